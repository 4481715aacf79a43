// Follows the epoch of stored responses. A process that does not listen for drops knows no epoch, so
// that it uses no copies.
import type { Logger } from 'pino'
import type { Store } from '../../src/db/connection/client.ts'
import { RESPONSES_DROPPED_CHANNEL } from '../../src/db/connection/notifications.ts'
import { readAnswerEpoch } from '../../src/db/idempotency/dropped-responses.ts'

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
