// Tenants and the API keys that name them. A key is stored as its SHA-256, which is enough for
// secrets that are random and long, and is found by its public prefix.
import { createHash, randomUUIDv7, timingSafeEqual } from 'node:crypto'
import { and, eq, isNull } from 'drizzle-orm'
import type { FeeSchedule } from '../domain/ledger.ts'
import type { Store } from './client.ts'
import { apiKeys, tenants } from './schema/tenants.ts'

const API_KEY = /^sk_[A-Za-z0-9_]{9,200}$/

/** The prefix is public, so it is never more than half of a key. */
const PREFIX_LENGTH_MAX = 16

function apiKeyPrefix(apiKey: string): string {
  return apiKey.slice(0, Math.min(PREFIX_LENGTH_MAX, Math.floor(apiKey.length / 2)))
}

function hashApiKey(apiKey: string): Buffer {
  return createHash('sha256').update(apiKey).digest()
}

/** Compared against when no key has the prefix, so that a miss takes the time of a hit. */
const NOBODY = hashApiKey('nobody')

/** The tenant whose live API key this is, or undefined: malformed, unknown and revoked look alike. */
export async function findTenantByApiKey(
  { orm }: Store,
  apiKey: string,
): Promise<string | undefined> {
  const prefix = API_KEY.test(apiKey) ? apiKeyPrefix(apiKey) : ''
  const candidates = await orm
    .select({ tenantId: apiKeys.tenantId, secretHash: apiKeys.secretHash })
    .from(apiKeys)
    .where(and(eq(apiKeys.prefix, prefix), isNull(apiKeys.revokedAt)))
  const hash = hashApiKey(apiKey)
  let tenantId: string | undefined
  for (const candidate of candidates) {
    if (timingSafeEqual(candidate.secretHash, hash)) tenantId = candidate.tenantId
  }
  if (candidates.length === 0) timingSafeEqual(NOBODY, hash)
  return tenantId
}

/**
 * Makes a tenant with one API key, and returns its id.
 *
 * @throws Error when the key has not the form of one.
 */
export async function createTenant(
  { orm }: Store,
  tenant: { name: string; apiKey: string },
): Promise<string> {
  if (!API_KEY.test(tenant.apiKey))
    throw new Error('an API key is sk_ and 9 to 200 letters or digits')
  const id = randomUUIDv7()
  await orm.transaction(async (tx) => {
    await tx.insert(tenants).values({ id, name: tenant.name })
    await tx.insert(apiKeys).values({
      tenantId: id,
      id: randomUUIDv7(),
      prefix: apiKeyPrefix(tenant.apiKey),
      secretHash: hashApiKey(tenant.apiKey),
    })
  })
  return id
}

/**
 * Sets what a tenant pays for each capture from now on. False when there is no such tenant.
 *
 * @throws the driver's error when the fees are negative, or more than all of a capture.
 */
export async function setTenantFees(
  { orm }: Store,
  tenantId: string,
  { basisPoints, fixedMinor }: FeeSchedule,
): Promise<boolean> {
  const changed = await orm
    .update(tenants)
    .set({ feeBasisPoints: basisPoints, feeFixedMinor: fixedMinor })
    .where(eq(tenants.id, tenantId))
    .returning({ id: tenants.id })
  return changed.length === 1
}
