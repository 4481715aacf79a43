// The tenant, or the API key, that a path names, for the endpoints below /admin/tenants/:id and
// /admin/keys/:id; and what operators may ask of a key that is made.
import type { Request } from 'express'
import { z } from 'zod'
import { findApiKey } from '../../db/tenants/api-keys.ts'
import type { Sql, Transaction } from '../../db/connection/client.ts'
import { findTenant } from '../../db/tenants/tenants.ts'
import {
  EVERY_SCOPE,
  grantableScopes,
  parseKeyId,
  type ApiKey,
} from '../../domain/tenants/api-key.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { parseTenantId, type Tenant } from '../../domain/tenants/tenant.ts'

export const scopesField = z
  .array(z.enum(grantableScopes))
  .min(1)
  .max(grantableScopes.length)
  .refine((wanted) => new Set(wanted).size === wanted.length, { error: 'A scope is repeated' })
  .default([EVERY_SCOPE])
  .meta({ description: 'What the key may be used for; `*`, the default, stands for everything.' })

/** The tenant as the path names it, for the audit trail; null when what it names can be none. */
export function namedTenant({ params }: Request): string | null {
  const named = String(params['id'])
  return parseTenantId(named) === undefined ? null : named
}

/** The same for an API key. */
export function namedKey({ params }: Request): string | null {
  const named = String(params['id'])
  return parseKeyId(named) === undefined ? null : named
}

/** @throws ProblemError resource-not-found. */
export async function findRequestedTenant(
  sql: Sql | Transaction,
  { params }: Request,
): Promise<Tenant> {
  const id = parseTenantId(String(params['id']))
  const tenant = id === undefined ? undefined : await findTenant(sql, id)
  if (tenant === undefined) throw new ProblemError('resource-not-found')
  return tenant
}

/** @throws ProblemError resource-not-found. */
export async function findRequestedKey(tx: Transaction, { params }: Request): Promise<ApiKey> {
  const id = parseKeyId(String(params['id']))
  const key = id === undefined ? undefined : await findApiKey(tx, id)
  if (key === undefined) throw new ProblemError('resource-not-found')
  return key
}
