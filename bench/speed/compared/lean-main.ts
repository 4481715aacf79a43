// Runs the lean statements in a closed loop, to measure a limit that is not the service's code. A
// child process of the benchmark, which takes commands from its parent and exits with it.
import { connectLean, makeLeanTables, payLean, reserveLean } from './lean.ts'

export interface LoopCommand {
  readonly what: 'intent' | 'payment'
  readonly tenantId: string
  readonly concurrency: number
  readonly seconds: number
}

export interface LoopReport {
  readonly timesMs: readonly number[]
  readonly seconds: number
}

/** More clients share these. It is the number of clients that the ratios use. */
const CONNECTIONS = 16

const [databaseUrl = ''] = process.argv.slice(2)
const connections = Array.from({ length: CONNECTIONS }, () => connectLean(databaseUrl))

process.on('message', (command: LoopCommand) => {
  void runLoop(command).then((report) => process.send?.(report))
})
process.once('disconnect', () => process.exit(0))
await makeLeanTables(databaseUrl)
process.send?.('ready')

/** Each client starts its next piece of work after the last one. */
async function runLoop({ what, tenantId, ...load }: LoopCommand): Promise<LoopReport> {
  const timesMs: number[] = []
  const beganAt = performance.now()
  const endsAt = beganAt + load.seconds * 1_000
  const runClient = async (client: number) => {
    const sql = connections[client % CONNECTIONS]
    if (sql === undefined) throw new Error('there is no connection')
    while (performance.now() < endsAt) {
      const startedAt = performance.now()
      await (what === 'intent' ? reserveLean(sql, tenantId) : payLean(sql, tenantId))
      timesMs.push(performance.now() - startedAt)
    }
  }
  await Promise.all(Array.from({ length: load.concurrency }, (_, client) => runClient(client)))
  return { timesMs, seconds: (performance.now() - beganAt) / 1_000 }
}
