// Decides, in the statement that reserves a key, whether a request is new that says when it was first
// sent. No client gets a second execution after its key was deleted.
import { CLOCK_SKEW_SECONDS } from '../../domain/idempotency/repeatability.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'

/** A request that says when it was first sent may be a retry of one whose key was deleted. */
export class FirstSentRefusedError extends Error {
  override name = 'FirstSentRefusedError'
}

/**
 * A condition: the request does not say when it was first sent, or it cannot have been executed
 * under a key that was deleted. It must be younger than its key can have been kept, and than every
 * expired use of its key: that is known even if the retention was shorter at that time.
 *
 * The clock is the one by which keys expire. A statement that began before that limit ends before
 * the key is deleted, because a deletion comes two statement timeouts after the expiry (see
 * key-expiry.ts). `now()` would not do: a transaction can stall between its begin and this statement.
 */
export function mayBeFirst(
  sql: Sql | Transaction,
  firstSent: Fragment,
  retentionSeconds: Fragment,
  tombstone: Fragment,
): Fragment {
  return sql`(
    ${firstSent} is null or (
      extract(epoch from statement_timestamp() - ${firstSent})
        between -${CLOCK_SKEW_SECONDS}::float8 and ${retentionSeconds} - ${CLOCK_SKEW_SECONDS}
      and not exists (
        select from (${tombstone}) as buried
        where (buried.earlier ->> 'expired_at')::timestamptz >= ${firstSent}
      )
    )
  )`
}
