// Runs the reaper without pauses between the commands `go` and `pause`, in a separate process. On
// `pause` it reports how much it has done. It exits when its parent exits.
import { createLog } from '../../src/log.ts'
import { reap, type ReaperCounts } from '../../src/recovery/reaper.ts'
import { benchConfig, benchEngine } from '../engine.ts'

/**
 * Replaces a time of seconds, so that keys are deleted as fast as they get tombstones. The service
 * deletes more slowly.
 */
const SHORT_STORE_TIMEOUT_MS = 100

/** The pause after a round without work. */
const EMPTY_PAUSE_MS = 20

export type ReaperCommand = 'go' | 'pause'

export interface ReaperReport {
  readonly tombstones: number
  readonly reaped: number
  /** Rounds without work. Many of them mean that the reaper was not under load. */
  readonly emptyRounds: number
}

const [databaseUrl = ''] = process.argv.slice(2)
const { store } = await benchEngine(databaseUrl)
const parts = { store, log: createLog('reaper', 'silent') }
const settings = { ...benchConfig(databaseUrl), STORE_TIMEOUT_MS: SHORT_STORE_TIMEOUT_MS }

let going: AbortController | undefined
let rounds: Promise<ReaperReport> = Promise.resolve({ tombstones: 0, reaped: 0, emptyRounds: 0 })

process.on('message', (command: ReaperCommand) => {
  if (command === 'go') {
    going = new AbortController()
    rounds = goRound(going.signal)
  } else {
    going?.abort()
    void rounds.then((report) => process.send?.(report))
  }
})
process.once('disconnect', () => process.exit(0))
await store.sql`select 1`
process.send?.('ready')

async function goRound(stop: AbortSignal): Promise<ReaperReport> {
  const total = { tombstones: 0, reaped: 0, emptyRounds: 0 }
  while (!stop.aborted) {
    const done: ReaperCounts = await reap(parts, settings)
    total.tombstones += done.buried
    total.reaped += done.reaped
    if (done.buried + done.reaped > 0) continue
    total.emptyRounds += 1
    await new Promise((resolve) => setTimeout(resolve, EMPTY_PAUSE_MS))
  }
  return total
}
