// Stores the sessions of operators in the console. A session ends when it is idle for too long, when
// it is too old, or when it is deleted.
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { objectsOf } from '../connection/rows.ts'
import { SESSION_ENDED_CHANNEL } from '../connection/notifications.ts'
import type { consoleSessions } from '../schema/service.ts'

type Stored = Readonly<typeof consoleSessions.$inferSelect>

export type NewConsoleSession = Pick<Stored, 'tokenHash' | 'operator' | 'keyProof'>

export interface ConsoleSession extends Pick<Stored, 'operator' | 'keyProof' | 'createdAt'> {
  /** Whether `touchConsoleSession` has something to write. */
  readonly isSeenLongAgo: boolean
}

/** How long a session lasts. */
export interface SessionLimits {
  readonly idleSeconds: number
  readonly maxSeconds: number
}

/** Requests within this time are not written, so that a page with many requests writes once. */
const SEEN_SECONDS = 5

/** Inserts a session. Returns when it was created. */
export async function insertConsoleSession(
  tx: Transaction,
  { tokenHash, operator, keyProof }: NewConsoleSession,
): Promise<Date> {
  const [row] = await tx<{ created_at: string }[]>`
    insert into console_sessions (token_hash, operator, key_proof)
    values (${tokenHash}, ${operator}, ${keyProof})
    returning created_at
  `
  if (row === undefined) throw new Error('an insert returned no row')
  return new Date(row.created_at)
}

/** Finds a session that has not ended. */
export async function findConsoleSession(
  sql: Sql,
  tokenHash: Buffer,
  limits: SessionLimits,
): Promise<ConsoleSession | undefined> {
  const found = await sql`
    select operator, key_proof, created_at, ${isSeenLongAgo(sql)} as is_seen_long_ago
    from console_sessions
    where token_hash = ${tokenHash} and not ${hasEnded(sql, limits)}
  `
  return objectsOf<ConsoleSession>(found)[0]
}

/** Finds the sessions that have not ended among these. Returns the hashes of their tokens as hex. */
export async function findOpenConsoleSessions(
  sql: Sql,
  tokenHashes: readonly Buffer[],
  limits: SessionLimits,
): Promise<ReadonlySet<string>> {
  const hashes = tokenHashes.map((tokenHash) => tokenHash.toString('hex'))
  const rows = await sql<{ hash: string }[]>`
    select encode(token_hash, 'hex') as hash from console_sessions
    where encode(token_hash, 'hex') = any(${hashes}::text[]) and not ${hasEnded(sql, limits)}
  `
  return new Set(rows.map(({ hash }) => hash))
}

/** Records that the operator is there, unless that was recorded a moment ago. */
export async function touchConsoleSession(sql: Sql, tokenHash: Buffer): Promise<void> {
  await sql`
    update console_sessions set seen_at = now()
    where token_hash = ${tokenHash} and ${isSeenLongAgo(sql)}
  `
}

/**
 * Deletes a session, and announces its end when the transaction commits. Returns whether it was
 * there.
 */
export async function deleteConsoleSession(tx: Transaction, tokenHash: Buffer): Promise<boolean> {
  const { count } = await tx`delete from console_sessions where token_hash = ${tokenHash}`
  if (count === 0) return false
  await tx`select pg_notify(${SESSION_ENDED_CHANNEL}, ${tokenHash.toString('hex')})`
  return true
}

/** Deletes the sessions that have ended. There are few, because operators are few. */
export async function deleteEndedConsoleSessions(
  tx: Transaction,
  limits: SessionLimits,
): Promise<void> {
  await tx`delete from console_sessions where ${hasEnded(tx, limits)}`
}

function hasEnded(sql: Sql | Transaction, { idleSeconds, maxSeconds }: SessionLimits): Fragment {
  return sql`(
    seen_at <= now() - ${idleSeconds} * interval '1 second'
    or created_at <= now() - ${maxSeconds} * interval '1 second'
  )`
}

function isSeenLongAgo(sql: Sql): Fragment {
  return sql`seen_at < now() - ${SEEN_SECONDS} * interval '1 second'`
}
