// Opens the layers of copies that the settings ask for.
import type { Logger } from 'pino'
import { noAnswers, type Answers, type AnswersObserver } from '../../src/answers/answers.ts'
import type { Store } from '../../src/db/connection/client.ts'
import { followAnswerEpoch } from './answer-epoch.ts'
import { createAnswers } from './copies.ts'
import { createMemoryAnswers } from './memory-answers.ts'
import { createRedisAnswers } from './redis-answers.ts'

/** An answer takes about 3 KB, so that both are reached at about the same time. */
const MEMORY_ANSWERS = 10_000
const MEMORY_BYTES = 32 * 1024 * 1024

export interface Settings {
  readonly ANSWER_CACHE_SECONDS: number
  readonly REDIS_URL?: string | undefined
  readonly REDIS_KEY_PREFIX: string
  readonly REDIS_TIMEOUT_MS: number
}

export interface Parts {
  readonly store: Pick<Store, 'sql' | 'listen'>
  readonly log: Logger
  readonly observe: AnswersObserver
}

/** Neither layer is on by default. Redis's client is loaded only when it is used. */
export async function openAnswers(
  { ANSWER_CACHE_SECONDS, REDIS_URL, REDIS_KEY_PREFIX, REDIS_TIMEOUT_MS }: Settings,
  { store, log, observe }: Parts,
): Promise<Answers> {
  if (ANSWER_CACHE_SECONDS === 0 && REDIS_URL === undefined) return noAnswers
  const bounds = { answers: MEMORY_ANSWERS, bytes: MEMORY_BYTES, seconds: ANSWER_CACHE_SECONDS }
  const link =
    REDIS_URL === undefined
      ? undefined
      : (await import('./redis-link.ts')).connectRedis({
          url: REDIS_URL,
          prefix: REDIS_KEY_PREFIX,
          timeoutMs: REDIS_TIMEOUT_MS,
          log,
          observe,
        })
  return createAnswers({
    epoch: followAnswerEpoch(store, log),
    memory: ANSWER_CACHE_SECONDS === 0 ? undefined : createMemoryAnswers(bounds),
    redis: link && createRedisAnswers(link, observe),
    observe,
  })
}
