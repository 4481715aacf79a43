// Follows the epoch of stored responses. A process that does not listen for drops knows no epoch, so
// that it uses no copies.
import type { Logger } from 'pino'
import type { Sql, Store } from '../../src/db/connection/client.ts'
import { RESPONSES_DROPPED_CHANNEL } from '../../src/db/connection/notifications.ts'
import { readServer } from '../../src/db/connection/server/server.ts'

const READ_AGAIN_MS = 1_000

export interface AnswerEpoch {
  /** The name of the epoch; undefined while this process does not know it. */
  current(): string | undefined
}

export function followAnswerEpoch(
  { sql, listen }: Pick<Store, 'sql' | 'listen'>,
  log: Logger,
): AnswerEpoch {
  let current: string | undefined
  // A read that began before the latest notification may be too old.
  let latest = 0
  const forget = (): number => {
    current = undefined
    latest += 1
    return latest
  }
  const read = async (): Promise<void> => {
    const own = forget()
    try {
      const epoch = await readAnswerEpoch(sql)
      if (own === latest) current = epoch
    } catch (error) {
      log.warn({ err: error }, 'could not read the epoch of stored responses; no copies are used')
      const again = () => own === latest && void read()
      setTimeout(again, READ_AGAIN_MS).unref()
    }
  }
  listen(
    RESPONSES_DROPPED_CHANNEL,
    () => void read(),
    (isListening) => void (isListening ? read() : forget()),
  )
  return { current: () => current }
}

/**
 * Names the current epoch. The name also changes when the server starts, is promoted or is restored from
 * a backup: an answer that it forgot is not valid any more.
 */
export async function readAnswerEpoch(sql: Sql): Promise<string> {
  const { cluster, timeline, startedAt } = await readServer(sql)
  const [row] = await sql<{ epoch: string }[]>`select epoch::text from answer_epochs where id = 1`
  return [cluster, timeline, startedAt, row?.epoch ?? '0'].join(' ')
}
