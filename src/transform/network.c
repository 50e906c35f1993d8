/* --network: another network between the GPUs. Every transfer takes what it took, by the ratio of what NCCL's model
 * gives for both networks (cost/transfers.h); of what was described nothing else changes, but that kernels lose what
 * runs beside them, or get it (contend.h).
 */
#include "transform/network.h"
#include "transform/contend.h"
#include "transform/edit.h"
#include "transform/estimates.h"

#include <lumos/hardware.h>
#include <lumos/transform.h>

void lumos_note_kept_communication(struct lumos_job *job, int64_t kept) {
  if (kept > 0) {
    lumos_job_note(job, "transform.communication_kept", LUMOS_WARNING, kept, NULL,
                   "communication kernels keep their time: the trace does not show what they move, or among how many",
                   "record with PyTorch 2.4 or later, which records the arguments of collectives");
  }
  if (lumos_job_has_note(job, LUMOS_NOTE_GUESSED_MEMBERS) &&
      !lumos_job_has_note(job, LUMOS_NOTE_UNTIED_COMMUNICATION)) {
    lumos_job_note(
        job, LUMOS_NOTE_UNTIED_COMMUNICATION, LUMOS_WARNING, LUMOS_ABSENT, NULL,
        "how long transfers then take depends on which ranks take part, and that is inferred; do not read the "
        "step time as a prediction",
        "record with PyTorch 2.4 or later, which records the arguments of collectives");
  }
}

bool lumos_transform_network(struct lumos_job *job, const char *file, struct lumos_error *error) {
  struct lumos_network network;
  if (!lumos_network_read(file, &network, error) || !lumos_edit_begin(job, error)) {
    return lumos_fail_prefix(error, "--network");
  }
  struct lumos_hardware *hardware = lumos_hardware_read(NULL, error);
  if (hardware == NULL) {
    return false;
  }
  struct lumos_contend contend;
  lumos_contend_begin(&contend, job);
  struct lumos_nodes before = lumos_nodes_of(job, NULL), after = lumos_nodes_of(job, &network);
  contend.is.node_size = after.size;
  struct lumos_transfers *transfers = lumos_transfers_fit(job, hardware, &before);
  const struct lumos_communication_change change = {.network = &network};
  int64_t kept = lumos_estimate_communication(job, transfers, &after, &change, "network.communication",
                                              "communication over another network");
  lumos_transfers_free(transfers);
  lumos_hardware_free(hardware);
  lumos_contend_end(&contend, job, NULL);
  lumos_edit_commit(job);
  lumos_edit_record(job, "network", file);
  lumos_note_kept_communication(job, kept);
  lumos_tell_network(job, &network);
  return true;
}
