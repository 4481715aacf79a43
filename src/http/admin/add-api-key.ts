// POST /admin/tenants/:id/keys
import { z } from 'zod'
import { insertApiKey, makeApiKey } from '../../db/tenants/api-keys.ts'
import { presentNewApiKey, showKeyId } from '../../domain/tenants/api-key.ts'
import { jsonType } from '../answer.ts'
import { adminCommand } from './audited.ts'
import { findRequestedTenant, namedTenant, scopesField } from './requested-tenant.ts'

export const addApiKeyBody = z.strictObject({ scopes: scopesField })

export const addApiKey = adminCommand({
  action: 'api_key.add',
  subject: namedTenant,
  body: addApiKeyBody,
  // A repeat makes another key: whoever has lost the answer finds the first one in the list, without
  // its secret, and revokes it.
  async work(_parts, tx, { request, body: { scopes } }) {
    const { id: tenantId } = await findRequestedTenant(tx, request)
    const secret = makeApiKey()
    const key = await insertApiKey(tx, { tenantId, secret, scopes })
    const body = JSON.stringify(presentNewApiKey(key, secret))
    return {
      answer: { status: 201, headers: jsonType, body },
      details: { result: 'made', key: showKeyId(key.id), scopes },
    }
  },
})
