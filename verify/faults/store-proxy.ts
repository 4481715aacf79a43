// A proxy between one process under test and PostgreSQL. It splits the stream into messages and
// calls the watch before and after each message of an operation's statement.
import { Links } from './links.ts'
import type { Role } from './points.ts'
import { StoreLink } from './store-link.ts'
import type { Watch } from './watch.ts'

export type StoreProxy = Awaited<ReturnType<typeof openStoreProxy>>

/** @param serverPort the port of PostgreSQL on this machine. */
export async function openStoreProxy(role: Role, serverPort: number, watch: Watch) {
  const absences: { readonly from: number; readonly to: number }[] = []
  const sqlErrors: string[] = []
  let isShut = false
  const isAway = () => performance.now() < (absences.at(-1)?.to ?? 0)
  const onError = (sqlState: string) => void sqlErrors.push(sqlState)
  const links = await Links.open((client) =>
    isShut || isAway() ? undefined : new StoreLink({ role, client, serverPort, watch, onError }),
  )
  return {
    port: links.port,
    /** When the store was unreachable, by the clock of `performance`. */
    absences,
    /** The SQLSTATEs of all errors from PostgreSQL itself so far. */
    sqlErrors,
    /** Ends every connection, and each new one for a while. */
    disconnect(forMs: number): void {
      const from = performance.now()
      absences.push({ from, to: from + forMs })
      links.end()
    },
    /** Ends every connection, and each new one until `reopen`. */
    shut(): void {
      isShut = true
      links.end()
    },
    reopen(): void {
      isShut = false
    },
    /**
     * Ends the connections with prepared statements, each as soon as it is idle. The next operation
     * prepares its statements again and reaches the same points each time.
     */
    async dropPrepared(): Promise<void> {
      const pool = [...links.all].filter(({ isPooled }) => isPooled)
      const over = pool.map((link) => new Promise<void>((resolve) => link.onClose(resolve)))
      for (const link of pool) link.endWhenIdle()
      await Promise.all(over)
    },
    dropStalled: () => links.dropStalled(),
    close: () => links.close(),
  }
}
