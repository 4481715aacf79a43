// Mutants of the copies of answers: Redis decides, or gives what PostgreSQL would not.
import { COPIED } from '../case.ts'
import { NO_UNIQUE_KEY, type Mutant } from './mutant.ts'

const [PAID, WITHDRAWN] = COPIED

export const mutantsOfCopies: readonly Mutant[] = [
  {
    name: 'redis-decides-who-executes',
    breaks: 'A key of which Redis has no copy is free, even if PostgreSQL has it.',
    patches: [
      {
        file: 'src/http/keyed/keyed-endpoint.ts',
        text: 'if (!parts.recentKeys.has(tenantId, key)) return undefined',
        replacement: 'if (copy === undefined) return undefined',
      },
      {
        file: 'src/db/idempotency/reserve-keys.ts',
        text: '    on conflict (tenant_id, key) do nothing\n',
        replacement: '',
      },
    ],
    schema: [NO_UNIQUE_KEY],
    caughtBy: 1,
    shownBy: [`${PAID}:redis-flushed@api/redis-get/command#2/before`],
  },
  {
    name: 'copy-outlives-its-response',
    breaks: 'A copy belongs to no epoch, so that it is replayed after its response was dropped.',
    patches: [
      {
        file: 'src/answers/sealed-answer.ts',
        text: "[FORMAT, epoch, tenantId, key].join('\\n')",
        replacement: "[FORMAT, tenantId, key].join('\\n')",
      },
      {
        file: 'src/answers/sealed-answer.ts',
        text: "[FORMAT, epoch, key].join('\\n')",
        replacement: "[FORMAT, key].join('\\n')",
      },
    ],
    caughtBy: 3,
    shownBy: [WITHDRAWN],
  },
  {
    name: 'copy-found-before-authentication',
    breaks: 'An API key that has worked once gets copies, also after it was revoked.',
    patches: [
      {
        file: 'src/http/server/authenticate.ts',
        text: 'const BEARER =',
        replacement: 'const workedOnce = new Map<string, AuthenticatedKey>()\nconst BEARER =',
      },
      {
        file: 'src/http/server/authenticate.ts',
        text: "  return cached ?? (await findApiKey(parts, { address: request.ip ?? '', apiKey }))\n",
        replacement: `  const worked = workedOnce.get(apiKey)
  const key = String(request.headers['idempotency-key'])
  const copy = worked && (await parts.answers.find({ tenantId: worked.tenantId, key }))
  if (worked !== undefined && copy !== undefined) return worked
  const found = cached ?? (await findApiKey(parts, { address: request.ip ?? '', apiKey }))
  workedOnce.set(apiKey, found)
  return found
`,
      },
    ],
    caughtBy: 9,
    shownBy: [WITHDRAWN],
  },
]
