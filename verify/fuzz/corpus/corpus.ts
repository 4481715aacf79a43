// Every hand-picked request that has to be refused, with the problem that has to be told of it.
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
