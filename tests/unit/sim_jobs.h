/* Jobs of about ten tasks, worked out on paper; times in nanoseconds.
 *
 * `streams`: one rank, threads t1 and t2, streams s7 and s20. K1 waits on s20 for the event recorded behind K0 on s7;
 * `sync` waits for s20.
 *
 *   t1  launch0 0-10, record 10-12, wait 12-14, launch1 14-24, launch2 24-34, sync 34-170, after 175-182
 *   t2  work 0-40, launch3 40-50
 *   s7  K0: launched 10, + 2 = 12, ends 112.  K2: launch 34 + 2 = 36, behind K0 112 + gap 1 = 113, ends 133.
 *   s20 K1: launch 24 + 2 = 26, event 112 + 4 = 116, residual 1: 117, ends 167.
 *       K3: launch 50 + 2 = 52, behind K1 167 + gap 2 = 169, ends 199.
 *   sync looks at 34: s20 holds K1 (since 24), not K3 (from 50 on). End 167 + residual 3 = 170; then after with lag 5.
 *
 * `ranks`: two ranks, a thread and a stream each. C0 and C1 are one all-reduce of transfer 40. Rank 1's host clock is
 * 1000 ahead of job time, its device clock 5 behind its host's: job time = host - 1000, = device - 995. In job time:
 *
 *   rank 0  launchA 0-10, launchC0 10-20, sync0 20-148, after0 148-153     A 11-61, C0 63-144
 *   rank 1  launchB 0-10, launchC1 10-20, sync1 20-149, after1 152-157     B 11-101, C1 103-143
 *   A: launch 10 + 1. C0: behind A 61 + gap 2. B, C1 alike. C1 comes last: both end at 103 + 40 = 143, C0 1 later.
 *   sync0: 144 + 4. sync1: 143 + 6. after1 has lag 3.
 *
 * `copies`: a blocking copy behind work that was launched before the recording (`backlog`), and work whose launch is
 * missing between two others (`lost`).
 *
 * `late`: C0 starts at 10 inside a call that ends at 300, and only then is on its stream; its peer C1 ends with it, at
 * 11 + 40. So what follows on C1's rank is known late.
 */
#ifndef LUMOS_TESTS_SIM_JOBS_H
#define LUMOS_TESTS_SIM_JOBS_H

#include "job_text.h"

/* clang-format off */
#define HOST(id, lane, seq, kind, name, start, dur, lag, more)                                                              \
  "{'type':'task','id':'" id "','rank':" RANK_OF_JOB ",'lane':'" lane "','seq':" #seq ",'kind':'" kind "','name':'" name     \
  "','start':" #start ",'dur':" #dur ",'lag':" #lag ",'step':1" more "}\n"

#define RANK_OF_JOB "0"
__attribute__((unused)) static const char streams_job[] = JOB_TEXT_HEADER
    "{'type':'rank','rank':0,'window':[0,300],'base':0," JOB_TEXT_COVERAGE "}\n"
    "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
    "{'type':'lane','rank':0,'lane':'t2','kind':'thread','native':'2'}\n"
    "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
    "{'type':'lane','rank':0,'lane':'s20','kind':'stream','native':'20'}\n"
    HOST("0:0", "t1", 0, "launch", "launch0", 0, 10, 0, "")
    HOST("0:1", "t1", 1, "event", "record", 10, 2, 0, ",'event':{'op':'record','lane':'s7'}")
    HOST("0:2", "t1", 2, "event", "wait", 12, 2, 0, ",'event':{'op':'wait','lane':'s20'},'wait':{'on':'event','lane':'s7','record':'0:1'}")
    HOST("0:3", "t1", 3, "launch", "launch1", 14, 10, 0, "")
    HOST("0:4", "t1", 4, "launch", "launch2", 24, 10, 0, "")
    HOST("0:5", "t1", 5, "sync", "sync", 34, 136, 0, ",'wait':{'on':'stream','lane':'s20','residual':3}")
    HOST("0:6", "t1", 6, "op", "after", 175, 7, 5, "")
    HOST("0:7", "t2", 0, "op", "work", 0, 40, 0, "")
    HOST("0:8", "t2", 1, "launch", "launch3", 40, 10, 0, "")
    HOST("0:9", "s7", 0, "gemm", "K0", 12, 100, 0, ",'gap':0,'call':'0:0','launch_lag':2,'residual':0")
    HOST("0:10", "s7", 1, "norm", "K2", 113, 20, 0, ",'gap':1,'call':'0:4','launch_lag':2,'residual':0")
    HOST("0:11", "s20", 0, "gemm", "K1", 117, 50, 0, ",'gap':0,'call':'0:3','launch_lag':2,'residual':1")
    HOST("0:12", "s20", 1, "copy", "K3", 169, 30, 0, ",'gap':2,'call':'0:8','launch_lag':2,'residual':0")
    "{'type':'dep','at':0,'dst':'0:0','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n"
    "{'type':'dep','at':0,'dst':'0:7','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n"
    "{'type':'dep','src':'0:9','dst':'0:11','kind':'event','from':'end','to':'start','lag':4,'evidence':'recorded','mode':'run_time'}\n";
/* Three more tasks at the end of t1, from which nothing follows: 182-183, 183-184, 184-185. */
__attribute__((unused)) static const char streams_tail[] =
    HOST("0:13", "t1", 7, "op", "then", 182, 1, 0, "")
    HOST("0:14", "t1", 8, "op", "and then", 183, 1, 0, "")
    HOST("0:15", "t1", 9, "op", "at last", 184, 1, 0, "");

/* 'clock' stands in the rank record; everything of rank 1 is written in its own clocks. */
#define ALL_REDUCE ",'comm':{'op':'all_reduce','group':'world','seq':0,'bytes':8}"
__attribute__((unused)) static const char ranks_job[] = JOB_TEXT_HEADER
    "{'type':'rank','rank':0,'world':2,'window':[0,300],'base':0," JOB_TEXT_COVERAGE
    ",'clock':{'device_offset':0,'offset':0,'drift_ppb':0,'evidence':'collectives'}}\n"
    "{'type':'group','id':'world','rank':0,'size':2,'ranks':[0,1]}\n"
    "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
    "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
    HOST("0:0", "t1", 0, "launch", "launchA", 0, 10, 0, "")
    HOST("0:1", "t1", 1, "launch", "launchC0", 10, 10, 0, "")
    HOST("0:2", "t1", 2, "sync", "cudaDeviceSynchronize", 20, 128, 0, ",'wait':{'on':'device','residual':4}")
    HOST("0:3", "t1", 3, "op", "after0", 148, 5, 0, "")
    HOST("0:4", "s7", 0, "gemm", "A", 11, 50, 0, ",'gap':0,'call':'0:0','launch_lag':1,'residual':0")
    HOST("0:5", "s7", 1, "collective", "C0", 63, 81, 0, ",'gap':2,'call':'0:1','launch_lag':1" ALL_REDUCE ",'residual':0,'end_residual':1")
#undef RANK_OF_JOB
#define RANK_OF_JOB "1"
    "{'type':'rank','rank':1,'world':2,'window':[1000,1300],'base':995," JOB_TEXT_COVERAGE
    ",'clock':{'device_offset':5,'offset':-1000,'drift_ppb':0,'evidence':'collectives'}}\n"
    "{'type':'lane','rank':1,'lane':'t1','kind':'thread','native':'1'}\n"
    "{'type':'lane','rank':1,'lane':'s7','kind':'stream','native':'7'}\n"
    HOST("1:0", "t1", 0, "launch", "launchB", 1000, 10, 0, "")
    HOST("1:1", "t1", 1, "launch", "launchC1", 1010, 10, 0, "")
    HOST("1:2", "t1", 2, "sync", "cudaDeviceSynchronize", 1020, 129, 0, ",'wait':{'on':'device','residual':6}")
    HOST("1:3", "t1", 3, "op", "after1", 1152, 5, 3, "")
    HOST("1:4", "s7", 0, "gemm", "B", 1006, 90, 0, ",'gap':0,'call':'1:0','launch_lag':1,'residual':0")
    HOST("1:5", "s7", 1, "collective", "C1", 1098, 40, 0, ",'gap':2,'call':'1:1','launch_lag':1" ALL_REDUCE ",'residual':0,'end_residual':0")
    "{'type':'dep','at':0,'dst':'0:0','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n"
    "{'type':'dep','at':1000,'dst':'1:0','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n"
    "{'type':'collective','id':'c:0','op':'all_reduce','rule':'symmetric','group':'world','members':['0:5','1:5'],'size':2,'bytes':8,"
    "'transfer':40,'matched':'seq'}\n";

#undef RANK_OF_JOB
#define RANK_OF_JOB "0"
__attribute__((unused)) static const char copies_job[] = JOB_TEXT_HEADER
    "{'type':'rank','rank':0,'window':[0,300],'base':0," JOB_TEXT_COVERAGE "}\n"
    "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
    "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
    HOST("0:0", "t1", 0, "other", "cudaMemcpy", 0, 35, 0, ",'wait':{'on':'self','residual':3}")
    HOST("0:1", "t1", 1, "launch", "launch", 37, 4, 2, "")
    "{'type':'task','id':'0:2','rank':0,'lane':'s7','seq':0,'kind':'gemm','name':'backlog','start':6,'dur':5,'lag':0,'gap':0}\n"
    HOST("0:3", "s7", 1, "copy", "copy", 12, 20, 0, ",'gap':1,'call':'0:0','launch_lag':4,'launch_from':'start','residual':0")
    HOST("0:4", "s7", 2, "other", "lost", 33, 10, 0, ",'gap':1,'residual':0")
    HOST("0:5", "s7", 3, "gemm", "overlapping", 40, 10, -3, ",'gap':0,'call':'0:1','launch_lag':-20,'residual':0")
    "{'type':'dep','at':0,'dst':'0:0','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n"
    "{'type':'dep','at':6,'dst':'0:2','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n";

__attribute__((unused)) static const char late_job[] = JOB_TEXT_HEADER
    "{'type':'rank','rank':0,'window':[0,300],'base':0," JOB_TEXT_COVERAGE "}\n"
    "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
    "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
    HOST("0:0", "t1", 0, "launch", "launchC0", 0, 300, 0, "")
    HOST("0:1", "s7", 0, "collective", "C0", 10, 41, 0, ",'call':'0:0','launch_lag':10,'launch_from':'start','residual':0")
#undef RANK_OF_JOB
#define RANK_OF_JOB "1"
    "{'type':'rank','rank':1,'window':[0,300],'base':0," JOB_TEXT_COVERAGE "}\n"
    "{'type':'lane','rank':1,'lane':'t1','kind':'thread','native':'1'}\n"
    "{'type':'lane','rank':1,'lane':'t2','kind':'thread','native':'2'}\n"
    "{'type':'lane','rank':1,'lane':'s7','kind':'stream','native':'7'}\n"
    "{'type':'lane','rank':1,'lane':'s8','kind':'stream','native':'8'}\n"
    HOST("1:0", "t1", 0, "launch", "launchC1", 0, 10, 0, "")
    HOST("1:1", "t1", 1, "sync", "sync", 10, 45, 0, ",'wait':{'on':'device','residual':4}")
    HOST("1:2", "t1", 2, "sync", "again", 55, 2, 0, ",'wait':{'on':'device','residual':2}")
    HOST("1:3", "t2", 0, "launch", "launchD", 0, 210, 0, "")
    HOST("1:4", "s7", 0, "collective", "C1", 11, 40, 0, ",'call':'1:0','launch_lag':1,'residual':0")
    HOST("1:5", "s8", 0, "gemm", "D", 211, 100, 0, ",'call':'1:3','launch_lag':1,'residual':0")
    "{'type':'collective','id':'c:0','op':'all_reduce','rule':'symmetric','members':['0:1','1:4'],'size':2,'transfer':40,'matched':'seq'}\n";
/* clang-format on */

__attribute__((unused)) static struct lumos_job *streams_job_with_tail(void) {
  const char *behind = strstr(streams_job, "{'type':'dep'");
  assert_non_null(behind);
  char text[sizeof streams_job + sizeof streams_tail];
  (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(behind - streams_job), streams_job, streams_tail, behind);
  return job_from_text(text);
}

#endif
