#include "rebuild/hosts.h"

#include "base/text.h"
#include "cost/placing.h"

/* The host of a node: of a rank that was recorded there, else a name for it. */
static lumos_string_id host_of_node(struct lumos_job *built, const struct lumos_job *from, int32_t node, int32_t size) {
  for (size_t r = 0; r < from->ranks.count; r++) {
    if (from->ranks.items[r].rank / size == node && from->ranks.items[r].host != LUMOS_NO_STRING) {
      return from->ranks.items[r].host;
    }
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "not recorded: node %d", (int)node);
  lumos_text_char(&text, '\0');
  lumos_string_id name = lumos_intern_text(built->strings, text.bytes);
  lumos_text_free(&text);
  return name;
}

void rebuild_place_ranks(struct lumos_job *built, const struct lumos_job *from) {
  struct lumos_nodes nodes = lumos_nodes_of(from, NULL);
  for (size_t r = 0; r < built->ranks.count; r++) {
    struct lumos_rank *rank = &built->ranks.items[r];
    if (rank->host != LUMOS_NO_STRING && nodes.size > 0) {
      rank->host = host_of_node(built, from, rank->rank / nodes.size, nodes.size);
    }
  }
}
