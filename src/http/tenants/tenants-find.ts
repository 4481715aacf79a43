// Finds the tenant or the API key that the path of an admin endpoint names, and defines the
// `scopes` field of requests that create a key.
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
  .refine((scopes) => new Set(scopes).size === scopes.length, { error: 'A scope is repeated' })
  .default([EVERY_SCOPE])
  .meta({
    description:
      'What the key may be used for. The default, `*`, grants every scope, including scopes of later versions.',
  })

/** Returns the id in the path, for the audit trail; null when it is not an id of a tenant. */
export function namedTenant({ params }: Request): string | null {
  const text = String(params['id'])
  return parseTenantId(text) === undefined ? null : text
}

/** Returns the id in the path, for the audit trail; null when it is not an id of an API key. */
export function namedKey({ params }: Request): string | null {
  const text = String(params['id'])
  return parseKeyId(text) === undefined ? null : text
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
