// The corpus: all hand-picked requests that the service must refuse, each with its expected
// problem.
import type { Case } from '../draft.ts'
import { authorization } from './authorization.ts'
import { cardNumbers } from './card-numbers.ts'
import { fields } from './fields.ts'
import { http } from './http.ts'
import { idempotencyKeys } from './idempotency-keys.ts'
import { json } from './json.ts'
import { operators } from './operators.ts'
import { paths } from './paths.ts'
import { queries } from './queries.ts'
import { states } from './states.ts'
import { webhooks } from './webhooks.ts'

export const corpus: readonly Case[] = [
  ...http,
  ...json,
  ...fields,
  ...cardNumbers,
  ...idempotencyKeys,
  ...authorization,
  ...paths,
  ...queries,
  ...states,
  ...webhooks,
  ...operators,
]
