// Zod schemas of the session of an operator in the console, for openapi.yaml.
import { z } from 'zod'
import { timeField } from '../contracts/fields.ts'

export const sessionSchema = z
  .object({
    object: z.literal('console_session'),
    operator: z.string().meta({ description: 'The name of the operator.' }),
    role: z
      .enum(['operator', 'viewer'])
      .meta({ description: 'A `viewer` may read everything and change nothing.' }),
    csrf_token: z.string().meta({
      description:
        'The value of the header `X-CSRF-Token` in every request that changes something.',
    }),
    dual_control: z.boolean().meta({
      description: 'Whether every resolution of an unknown outcome needs two operators.',
    }),
    idle_seconds: z.int().meta({
      description: 'The session ends after so many seconds without a request.',
    }),
    expires_at: timeField('When the session ends in any case.'),
  })
  .meta({ id: 'ConsoleSession', description: 'The session of an operator in the console.' })
