// POST /admin/keys/:id/rotate
import { z } from 'zod'
import { rotateKeyIfActive } from '../../db/tenants/api-keys.ts'
import {
  presentNewApiKey,
  ROTATION_GRACE_SECONDS,
  ROTATION_GRACE_SECONDS_MAX,
  showKeyId,
} from '../../domain/tenants/api-key.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { jsonType } from '../answer.ts'
import { adminCommand } from './audited.ts'
import { findRequestedKey, namedKey } from './requested-tenant.ts'

export const rotateApiKeyBody = z.strictObject({
  grace_seconds: z
    .int()
    .min(0)
    .max(ROTATION_GRACE_SECONDS_MAX)
    .default(ROTATION_GRACE_SECONDS)
    .describe('How long the old key goes on working.'),
})

export const rotateApiKey = adminCommand({
  action: 'api_key.rotate',
  subject: namedKey,
  body: rotateApiKeyBody,
  async work(_parts, tx, { request, body: { grace_seconds: graceSeconds } }) {
    const old = await findRequestedKey(tx, request)
    const made = await rotateKeyIfActive(tx, old, graceSeconds)
    if (made === undefined) throw new ProblemError('api-key-ended')
    const shown = { ...presentNewApiKey(made.key, made.secret), replaces: showKeyId(old.id) }
    return {
      answer: { status: 201, headers: jsonType, body: JSON.stringify(shown) },
      details: { result: 'rotated', key: showKeyId(made.key.id), grace_seconds: graceSeconds },
    }
  },
  after: ({ keyHolders }) => keyHolders.forget(),
})
