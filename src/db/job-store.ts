// The connections over which pg-boss works: those of the driver that all other statements use, because it
// prepares each statement once, and sends those of several jobs one behind the other.
import type { Db } from 'pg-boss'
import postgres from 'postgres'
import { SERVICE_ROLE } from './service-role.ts'

export interface JobStore extends Db {
  close(): Promise<void>
}

/** Enough for one to be held by maintenance, which takes its time, while jobs come and go. */
const POOL_SIZE = 3

/** For the statements that are under way. */
const CLOSE_SECONDS = 5

/** pg-boss hands JSON over as text, which the driver would quote once more, or as an object. */
const json = {
  serialize: (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)),
  parse: (text: string): unknown => JSON.parse(text),
}

/** Such a text has no values, and cannot be prepared. */
const SEVERAL = /;\s*\S/

/** @throws at the first statement, not here, when the database is out of reach. */
export function openJobStore(url: string, applicationName: string): JobStore {
  const sql = postgres(url, {
    max: POOL_SIZE,
    types: { json: { ...json, to: 114, from: [114] }, jsonb: { ...json, to: 3802, from: [3802] } },
    onnotice: () => {},
    connection: {
      application_name: applicationName,
      role: SERVICE_ROLE,
      // A batch is settled by a join with a function that Postgres takes for a hundred rows, and a table
      // of some thousand jobs would be read from end to end for each of them.
      enable_seqscan: 'off',
      // What the server loses of them when it dies is done once more: a job says only where to look.
      synchronous_commit: 'off',
    },
  })
  return {
    async executeSql(text, values = []) {
      if (SEVERAL.test(text)) return { rows: await executeScript(sql, text) }
      return { rows: [...(await sql.unsafe(text, values, { prepare: true }))] }
    },
    async listen(channel, heard, listening) {
      const subscription = await sql.listen(channel, heard, listening)
      return { close: () => subscription.unlisten() }
    },
    close: () => sql.end({ timeout: CLOSE_SECONDS }),
  }
}

/** Several statements at once, which may begin and end a transaction. */
async function executeScript(sql: postgres.Sql, text: string): Promise<unknown[]> {
  const connection = await sql.reserve()
  try {
    return (await connection.unsafe(text).simple()).flat()
  } catch (error) {
    // Whoever has the connection next must not be in a transaction that has failed.
    await connection`rollback`.catch(() => {})
    throw error
  } finally {
    connection.release()
  }
}
