// Runs the lean statements in a closed loop, to measure a limit that is not the service's code.
import { runLoop, serveLoop, type LoopCommand, type LoopReport } from './closed-loop.ts'
import { connectLean, makeLeanTables, payLean, reserveLean } from './lean.ts'

/** More clients share these. It is the number of clients that the ratios use. */
const CONNECTIONS = 16

const [databaseUrl = ''] = process.argv.slice(2)
const connections = Array.from({ length: CONNECTIONS }, () => connectLean(databaseUrl))

await serveLoop(makeLeanTables(databaseUrl), run)

function run(command: LoopCommand): Promise<LoopReport> {
  const { what, tenantId } = command
  return runLoop(command, async (client) => {
    const sql = connections[client % CONNECTIONS]
    if (sql === undefined) throw new Error('there is no connection')
    await (what === 'intent' ? reserveLean(sql, tenantId) : payLean(sql, tenantId))
  })
}
