/* Fuzzer: any bytes as the description of a network. It is refused with a reason, or its figures are those of a
 * network, and it is the same one when it is written and read again.
 */
#include "cost/network.h"
#include "fuzz.h"

#include <lumos/job.h>

static void expect_link(const struct lumos_link *link) {
  const double figures[] = {link->bandwidth, link->latency, link->p2p_bandwidth, link->p2p_latency};
  for (int i = 0; i < 4; i++) {
    double least = i % 2 == 0 ? 1e-3 : 0;
    if (!(figures[i] == -1 || (figures[i] >= least && figures[i] <= 1e6))) {
      fuzz_fail("figures are absent, or those of a link", "");
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_network network, again = lumos_network_unknown;
  struct fuzz_file file = fuzz_file(data, size);
  bool good = lumos_network_read(file.path, &network, &error);
  (void)close(file.descriptor);
  if (!good) {
    fuzz_expect_reason(&error);
    return 0;
  }
  if (network.node_size != LUMOS_ABSENT_INT && network.node_size < 1) {
    fuzz_fail("a node has a GPU", "");
  }
  expect_link(&network.intra);
  expect_link(&network.inter);
  struct lumos_text one = LUMOS_TEXT_BUFFER, other = LUMOS_TEXT_BUFFER;
  lumos_network_put(&network, &one);
  lumos_text_char(&one, '\0');
  if (!lumos_network_add(one.bytes, &again)) {
    fuzz_fail("a network that is written can be read", one.bytes);
  }
  lumos_network_put(&again, &other);
  lumos_text_char(&other, '\0');
  fuzz_expect_same(&one, &other, "a network that is written and read is the same");
  if (lumos_network_add("[1", &again)) {
    fuzz_fail("what is no object is no network", "");
  }
  lumos_text_free(&one);
  lumos_text_free(&other);
  return 0;
}
