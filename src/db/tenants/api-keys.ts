// The API keys that name tenants. A key is stored as its SHA-256, which is enough for secrets that are
// random and long, and is found by its public prefix; the secret leaves here once, when it is made.
import { hash, randomBytes, randomUUIDv7, timingSafeEqual } from 'node:crypto'
import {
  API_KEY_BYTES,
  composeApiKey,
  EVERY_SCOPE,
  isApiKey,
  publicPrefix,
  showKeyId,
  type ApiKey,
  type ApiKeyStatus,
} from '../../domain/tenants/api-key.ts'
import type { Fragment, Sql, Store, Transaction } from '../connection/client.ts'
import { announceEndedKeys } from '../connection/notifications.ts'
import { readPage, type Page, type PageRequest } from '../connection/pages.ts'
import { seesEveryTenant, seesTenant } from '../connection/row-security.ts'

/** Whom a request speaks for, by which key, and what the key may be used for. */
export interface AuthenticatedKey {
  readonly tenantId: string
  /** As the log shows it. */
  readonly keyId: string
  readonly scopes: readonly string[]
  /** After how many seconds it expires; null when it does not. */
  readonly worksSeconds: number | null
}

interface CandidateRow {
  tenant_id: string
  id: string
  scopes: string[]
  secret_hash: Buffer
  works_seconds: number | null
}

export function makeApiKey(): string {
  return composeApiKey(randomBytes(API_KEY_BYTES))
}

export function hashApiKey(apiKey: string): Buffer {
  return hash('sha256', apiKey, 'buffer')
}

/** Compared against when no key has the prefix, so that a miss takes the time of a hit. */
const NOBODY = hashApiKey('nobody')

/** No key has it, so that looking for it finds nothing. */
const NO_PREFIX = ''

/**
 * The holder of a key that works, or undefined: malformed, unknown, revoked, expired and a disabled
 * tenant's look alike.
 *
 * Each of them costs one statement, one hash and one comparison. A text that is no key could do without,
 * and would be told from one by the time; what its checksum says, though, anyone can compute. What is
 * left is whether a row came back, some 20 microseconds: whoever has guessed the prefix of a working key
 * could learn that much, and a prefix is public.
 */
export async function authenticateKey(
  { sql }: Store,
  apiKey: string,
): Promise<AuthenticatedKey | undefined> {
  const candidates = await findActiveKey(sql, isApiKey(apiKey) ? publicPrefix(apiKey) : NO_PREFIX)
  const presented = hashApiKey(apiKey)
  let holder: CandidateRow | undefined
  for (const candidate of candidates) {
    if (timingSafeEqual(candidate.secret_hash, presented)) holder = candidate
  }
  if (candidates.length === 0) timingSafeEqual(NOBODY, presented)
  return (
    holder && {
      tenantId: holder.tenant_id,
      keyId: showKeyId(holder.id),
      scopes: holder.scopes,
      worksSeconds: holder.works_seconds,
    }
  )
}

function findActiveKey(sql: Sql, prefix: string) {
  return sql<CandidateRow[]>`
    select
      key.tenant_id, key.id, key.scopes, key.secret_hash,
      extract(epoch from key.expires_at - now())::float8 as works_seconds
    from api_keys as key
    join tenants on tenants.id = key.tenant_id
    where ${seesEveryTenant(sql)} and key.prefix = ${prefix}
      and key.revoked_at is null
      and (key.expires_at is null or key.expires_at > now())
      and tenants.disabled_at is null
  `
}

interface KeyRow {
  tenant_id: string
  id: string
  prefix: string
  scopes: string[]
  status: ApiKeyStatus
  created_at: string
  expires_at: string | null
  revoked_at: string | null
}

/** By the database's clock, as authentication is. */
const shownColumns = (sql: Sql | Transaction): Fragment => sql`
  tenant_id, id, prefix, scopes, created_at, expires_at, revoked_at,
  case
    when revoked_at is not null then 'revoked'
    when expires_at <= now() then 'expired'
    when expires_at is not null then 'retiring'
    else 'active'
  end as status
`

function keyFromRow(row: KeyRow): ApiKey {
  return {
    tenantId: row.tenant_id,
    id: row.id,
    prefix: row.prefix,
    scopes: row.scopes,
    status: row.status,
    createdAt: new Date(row.created_at),
    expiresAt: row.expires_at === null ? null : new Date(row.expires_at),
    revokedAt: row.revoked_at === null ? null : new Date(row.revoked_at),
  }
}

/** A key to be made; without scopes it may do everything. */
export interface NewApiKey {
  readonly tenantId: string
  readonly secret: string
  readonly scopes?: readonly string[]
}

/**
 * Stores a key, but for its secret.
 *
 * @throws Error when the secret has not the form of a key.
 */
export async function insertApiKey(
  tx: Transaction,
  { tenantId, secret, scopes = [EVERY_SCOPE] }: NewApiKey,
): Promise<ApiKey> {
  if (!isApiKey(secret)) throw new Error('an API key is sk_ and 9 to 200 letters or digits')
  const [row] = await tx<KeyRow[]>`
    insert into api_keys (tenant_id, id, prefix, secret_hash, scopes)
    select
      ${tenantId}::uuid, ${randomUUIDv7()}::uuid, ${publicPrefix(secret)}::text,
      ${hashApiKey(secret)}::bytea, ${[...scopes]}::text[]
    where ${seesTenant(tx, tenantId)}
    returning ${shownColumns(tx)}
  `
  // An insert of one row returns it, or throws.
  return keyFromRow(row as KeyRow)
}

export async function findApiKey(sql: Sql | Transaction, id: string): Promise<ApiKey | undefined> {
  const [row] = await sql<KeyRow[]>`
    select ${shownColumns(sql)} from api_keys where ${seesEveryTenant(sql)} and id = ${id}
  `
  return row && keyFromRow(row)
}

/** A tenant's keys, newest first, ended ones included. Undefined when the cursor names none of them. */
export async function listApiKeys(
  sql: Sql,
  tenantId: string,
  request: PageRequest,
): Promise<Page<ApiKey> | undefined> {
  const entries = sql`
    from api_keys where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId}
  `
  return await readPage(sql, { columns: shownColumns(sql), entries, fromRow: keyFromRow }, request)
}

/**
 * Makes a key that may do the same as another one, and has that expire after a time of grace. Undefined,
 * and nothing changed, when the other one ends or has ended already: of two rotations at once, one wins.
 */
export async function rotateKeyIfActive(
  tx: Transaction,
  { id, tenantId, scopes }: ApiKey,
  graceSeconds: number,
): Promise<{ key: ApiKey; secret: string } | undefined> {
  const [row] = await tx<{ retired: boolean | null }[]>`
    select
      retire_api_key(${id}, ${graceSeconds}::int * interval '1 second') as retired,
      ${announceEndedKeys(tx)}
    where ${seesEveryTenant(tx)}
  `
  if (row?.retired !== true) return undefined
  const secret = makeApiKey()
  return { key: await insertApiKey(tx, { tenantId, secret, scopes }), secret }
}

/** Has a key end at once. False when it is revoked already. */
export async function revokeKeyIfNotRevoked(tx: Transaction, id: string): Promise<boolean> {
  const [row] = await tx<{ revoked: boolean | null }[]>`
    select revoke_api_key(${id}) as revoked, ${announceEndedKeys(tx)}
    where ${seesEveryTenant(tx)}
  `
  return row?.revoked === true
}
