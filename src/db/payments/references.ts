// Finds the payment or refund of a tenant that uses a reference. Unique indexes decide that one does.
import type { Sql } from '../connection/client.ts'
import { asTenant } from '../connection/transaction.ts'

/** A reference, of a payment or of a refund: the two do not share theirs. */
export interface ReferenceName {
  readonly tenantId: string
  readonly kind: 'payment' | 'refund'
  readonly reference: string
}

/**
 * The id of the payment or refund that uses the reference; undefined when none does. Those that
 * ended without effect do not use theirs.
 */
export async function findUserOfReference(
  sql: Sql,
  { tenantId, kind, reference }: ReferenceName,
): Promise<string | undefined> {
  const [row] = await asTenant(sql, tenantId)<{ id: string }[]>`
    select id from ${sql(`${kind}s`)}
    where tenant_id = ${tenantId} and reference = ${reference}
      and status not in ('declined', 'canceled', 'failed')
  `
  return row?.id
}
