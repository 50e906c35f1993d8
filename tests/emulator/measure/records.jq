# What the sums need of the stream, one record a line, its fields behind a letter and apart by tabs.
#   L lane   C collective   R rank   D dependency   O operator   P step   T task
if .type == "task" then
  ["T", .id, .rank, .lane, .kind, .name, .start // "", .dur, .lag, .step // "", .span // "", .call // "", .first_segment // "",
   .event.op // "", .wait.on // "", .bytes // "", .occupancy // "", .launch_from // "end"]
elif .type == "span" and .kind == "op" then ["O", .id, .name, .shapes // ""]
elif .type == "span" and .kind == "step" then ["P", .rank, (.name | scan("[0-9]+$")), .dur]
elif .type == "lane" then ["L", .rank, .lane, .kind]
elif .type == "rank" then ["R", .rank, .clock.offset, .clock.drift_ppb, .clock.device_offset]
elif .type == "dep" and .src then ["D", .src, .dst, .kind, .lag]
elif .type == "collective" then ["C", .id, .rule] + .members
else empty end
| @tsv
