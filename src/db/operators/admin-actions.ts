// Appends to the audit trail of operators.
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { nextId, NO_TENANT } from '../connection/rows.ts'

export interface NewAdminAction {
  /** From `makeActionId` in the same transaction, when something else names the entry. */
  readonly id?: string
  /** The operator, or the part of the service that answers one. */
  readonly actor: string
  readonly action: string
  /**
   * The id of the resource that the action concerned, in the form that the API shows; null when it
   * concerned none.
   */
  readonly subject: string | null
  readonly details: Readonly<Record<string, unknown>>
}

const idOfAction = (sql: Sql | Transaction): Fragment =>
  nextId(sql, 'admin_actions', sql`${NO_TENANT}::uuid`)

/** Makes the id of an entry that the same transaction appends. */
export async function makeActionId(tx: Transaction): Promise<string> {
  const [row] = await tx<[{ id: string }]>`select ${idOfAction(tx)} as id`
  return row.id
}

/** Appends an action of an operator to the audit trail. */
export async function appendAdminAction(
  sql: Sql | Transaction,
  { id, actor, action, subject, details }: NewAdminAction,
): Promise<void> {
  await sql`
    insert into admin_actions (id, actor, action, subject, details)
    values (
      ${id === undefined ? idOfAction(sql) : sql`${id}`}, ${actor}, ${action}, ${subject}, ${JSON.stringify(details)}::jsonb
    )
  `
}

/** The action of stating the outcome of an operation. */
export const RESOLUTION = 'operation.resolve'

/** The action of judging such a statement by the lookup that followed. */
export const VERDICT = `${RESOLUTION}.verdict`
