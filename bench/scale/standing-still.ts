// Several services can be there and one of them be measured: the processes of the others stand still.
import { setTimeout as delay } from 'node:timers/promises'

/** So long that whoever was asking for jobs has its answer, and that whoever goes on has done what was due. */
const SETTLE_MS = 200

/** Does the work while the processes stand still. Whatever they were given to do before is to be done. */
export async function withStandingStill<Result>(
  pids: readonly number[],
  work: () => Promise<Result>,
): Promise<Result> {
  await delay(SETTLE_MS)
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  try {
    return await work()
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
}
