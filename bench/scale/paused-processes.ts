// Pauses processes with SIGSTOP, so that one of several services can be measured alone.
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Long enough for a worker to receive the jobs it is fetching, and for a resumed one to catch up.
 */
const CATCH_UP_MS = 200

/**
 * Runs the work while the processes are paused. They must have completed all earlier operations.
 */
export async function withPaused<Result>(
  pids: readonly number[],
  work: () => Promise<Result>,
): Promise<Result> {
  await delay(CATCH_UP_MS)
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  try {
    return await work()
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
}
