// Keeps answers in Redis, where all API processes find them: completed ones, and for a moment that a key
// is in progress. What Redis loses is read from the database again.
import type { IdempotencyKey, KeyName } from '../../src/db/idempotency/idempotency-keys.ts'
import type { AnswersObserver } from '../../src/answers/answers.ts'
import type { RedisLink } from './redis-link.ts'
import { nameInRedis, openAnswer, sealAnswer } from './sealed-answer.ts'

export interface RedisAnswers {
  find(epoch: string, name: KeyName): Promise<IdempotencyKey | undefined>
  keep(epoch: string, key: IdempotencyKey): void
  close(): void
}

/** Most retries come within minutes. */
const COMPLETED_MS = 3_600_000
/**
 * How long duplicates are refused without a statement. A request that comes when the operation has
 * just ended may be refused for this time.
 */
const IN_PROGRESS_MS = 1_000
/** Larger ones are rare, and delay the answers of others. */
const COPY_BYTES_MAX = 65_536

export function createRedisAnswers(link: RedisLink, observe: AnswersObserver): RedisAnswers {
  return {
    async find(epoch, name) {
      const { result, value } = await link.get(nameInRedis(epoch, name))
      if (value === undefined) {
        observe.lookedUpAnswer('redis', result)
        return undefined
      }
      try {
        const key = openAnswer(epoch, name, value, Date.now())
        observe.lookedUpAnswer('redis', key === undefined ? 'miss' : 'hit')
        return key
      } catch {
        // Somebody else wrote it, or with another encryption key.
        observe.lookedUpAnswer('redis', 'error')
        return undefined
      }
    },
    keep(epoch, key) {
      const isCompleted = key.response !== null
      const inProgress = key.status === 'pending' || key.status === 'processing'
      if (!link.isUsable() || !(isCompleted || inProgress)) return
      const lifeMs = isCompleted ? COMPLETED_MS : IN_PROGRESS_MS
      const untilMs = Math.min(Date.now() + lifeMs, key.expiresAt.getTime())
      if (untilMs <= Date.now()) return
      const sealed = sealAnswer(epoch, key, untilMs)
      if (sealed.length > COPY_BYTES_MAX) return
      // A late note that the key is in progress must not replace its answer.
      const options = { untilMs, onlyIfNew: !isCompleted }
      void link.set(nameInRedis(epoch, key), sealed, options)
    },
    close: () => link.close(),
  }
}
