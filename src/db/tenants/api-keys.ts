// Creates, authenticates and ends API keys. A key is stored as its SHA-256, which suffices for long
// random secrets, and is found by its public prefix. The secret is returned once, when the key is
// created.
import { hash, randomBytes, randomUUIDv7, timingSafeEqual } from 'node:crypto'
import {
  API_KEY_BYTES,
  composeApiKey,
  EVERY_SCOPE,
  isApiKey,
  publicPrefix,
  showKeyId,
  type ApiKey,
} from '../../domain/tenants/api-key.ts'
import type { Route } from '../../domain/payments/routing.ts'
import { limitsOf, type LimitColumns, type TenantLimits } from '../../domain/tenants/tenant.ts'
import type { Fragment, Sql, Store, Transaction } from '../connection/client.ts'
import { announceEndedKeys } from '../connection/notifications.ts'
import { findIn, listOf, type PageRequest } from '../connection/pages.ts'
import { objectsOf, type RowOf } from '../connection/rows.ts'
import { asService } from '../connection/transaction.ts'
import type { apiKeys, tenants } from '../schema/tenants.ts'

/** The tenant of a request with its limits, its API key and the scopes of the key. */
export interface AuthenticatedKey {
  readonly tenantId: string
  readonly limits: TenantLimits
  /** Whether new payments and refunds of the tenant must have a reference. */
  readonly requiresReference: boolean
  /** The providers of the tenant's new payments; null: the provider of the service. */
  readonly providers: readonly Route[] | null
  /** In the form that the log shows. */
  readonly keyId: string
  readonly scopes: readonly string[]
  /** The seconds until it expires; null when it does not expire. */
  readonly worksSeconds: number | null
}

type CandidateRow = Pick<RowOf<typeof apiKeys>, 'tenant_id' | 'id' | 'scopes' | 'secret_hash'> &
  Pick<RowOf<typeof tenants>, 'requires_reference' | 'providers'> &
  LimitColumns & { readonly works_seconds: number | null }

export function makeApiKey(): string {
  return composeApiKey(randomBytes(API_KEY_BYTES))
}

export function hashApiKey(apiKey: string): Buffer {
  return hash('sha256', apiKey, 'buffer')
}

/** Compared when no key has the prefix, so that a miss takes as long as a hit. */
const NO_KEY_HASH = hashApiKey('no key')

/** No key has this prefix. */
const NO_PREFIX = ''

/**
 * Authenticates an API key. Undefined for a malformed, unknown, revoked or expired key, and for a
 * key of a disabled tenant: callers cannot tell them apart.
 *
 * Each of them costs one statement, one hash and one comparison. Malformed text takes the same
 * time, although anyone can compute its checksum. The remaining difference is whether a row was
 * returned, some 20 microseconds: it reveals only that a guessed prefix exists, and prefixes are
 * public.
 */
export async function authenticateKey(
  { sql }: Store,
  apiKey: string,
): Promise<AuthenticatedKey | undefined> {
  const prefix = isApiKey(apiKey) ? publicPrefix(apiKey) : NO_PREFIX
  const candidates = await asService(sql)<CandidateRow[]>`
    select
      key.tenant_id, key.id, key.scopes, key.secret_hash, requires_reference, providers,
      rate_limit_writes, rate_limit_reads, max_active_keys, max_stored_keys, key_length_min,
      extract(epoch from key.expires_at - now())::float8 as works_seconds
    from api_keys as key
    join tenants on tenants.id = key.tenant_id
    where key.prefix = ${prefix} and key.revoked_at is null
      and (key.expires_at is null or key.expires_at > now())
      and tenants.disabled_at is null
  `
  const presented = hashApiKey(apiKey)
  let match: CandidateRow | undefined
  for (const candidate of candidates) {
    if (timingSafeEqual(candidate.secret_hash, presented)) match = candidate
  }
  if (candidates.length === 0) timingSafeEqual(NO_KEY_HASH, presented)
  return (
    match && {
      tenantId: match.tenant_id,
      limits: limitsOf(match),
      requiresReference: match.requires_reference,
      providers: match.providers,
      keyId: showKeyId(match.id),
      scopes: match.scopes,
      worksSeconds: match.works_seconds,
    }
  )
}

/** The status by the database's clock, as in authentication. */
const shownColumns = (sql: Sql | Transaction): Fragment => sql`
  tenant_id, id, prefix, scopes, created_at, expires_at, revoked_at,
  case
    when revoked_at is not null then 'revoked'
    when expires_at <= now() then 'expired'
    when expires_at is not null then 'retiring'
    else 'active'
  end as status
`

const shownKeys = (sql: Sql | Transaction) => ({ table: 'api_keys', columns: shownColumns(sql) })

/** An API key to create; by default it has every scope. */
export interface NewApiKey {
  readonly tenantId: string
  readonly secret: string
  readonly scopes?: readonly string[]
}

/**
 * Stores an API key without its secret.
 *
 * @throws Error when the secret does not have the form of an API key.
 */
export async function insertApiKey(
  tx: Transaction,
  { tenantId, secret, scopes = [EVERY_SCOPE] }: NewApiKey,
): Promise<ApiKey> {
  if (!isApiKey(secret)) throw new Error('an API key is sk_ and 9 to 200 letters or digits')
  const inserted = await tx`
    insert into api_keys (tenant_id, id, prefix, secret_hash, scopes)
    select
      ${tenantId}::uuid, ${randomUUIDv7()}::uuid, ${publicPrefix(secret)}::text,
      ${hashApiKey(secret)}::bytea, ${[...scopes]}::text[]
    returning ${shownColumns(tx)}
  `
  // The insert of one row returns the row or throws.
  return objectsOf<ApiKey>(inserted)[0] as ApiKey
}

/** Finds an API key of any tenant. */
export const findApiKey = (sql: Sql | Transaction, id: string) =>
  findIn<ApiKey>(sql, null, shownKeys(sql), { id })

/** Lists a tenant's API keys, including ended ones. */
export const listApiKeys = (sql: Sql, tenantId: string, request: PageRequest) =>
  listOf<ApiKey>(sql, tenantId, shownKeys(sql), request)

/**
 * Creates an API key with the scopes of another one, which expires after the grace period. Returns
 * undefined and changes nothing when the other one has ended or will expire: one of several
 * concurrent rotations wins.
 */
export async function rotateKeyIfActive(
  tx: Transaction,
  { id, tenantId, scopes }: ApiKey,
  graceSeconds: number,
): Promise<{ key: ApiKey; secret: string } | undefined> {
  const [row] = await tx<{ retired: boolean | null }[]>`
    select retire_api_key(${id}, ${graceSeconds}::int * interval '1 second') as retired
  `
  if (row?.retired !== true) return undefined
  await announceEndedKeys(tx)
  const secret = makeApiKey()
  return { key: await insertApiKey(tx, { tenantId, secret, scopes }), secret }
}

/** Revokes an API key. False when it is revoked already. */
export async function revokeKeyIfNotRevoked(tx: Transaction, id: string): Promise<boolean> {
  const [row] = await tx<{ revoked: boolean | null }[]>`
    select revoke_api_key(${id}) as revoked
  `
  if (row?.revoked !== true) return false
  await announceEndedKeys(tx)
  return true
}
