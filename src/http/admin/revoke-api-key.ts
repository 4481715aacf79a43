// DELETE /admin/keys/:id
import { revokeKeyIfNotRevoked } from '../../db/tenants/api-keys.ts'
import { noFields } from '../body-fields.ts'
import { adminCommand } from './audited.ts'
import { findRequestedKey, namedKey } from './requested-tenant.ts'

export const revokeApiKey = adminCommand({
  action: 'api_key.revoke',
  subject: namedKey,
  body: noFields,
  async work(_parts, tx, { request }) {
    const { id } = await findRequestedKey(tx, request)
    const revoked = await revokeKeyIfNotRevoked(tx, id)
    const details = { result: revoked ? 'revoked' : 'revoked before' }
    return { answer: { status: 204, body: '' }, details }
  },
  after: ({ keyHolders }) => keyHolders.forget(),
})
