// Keeps copies of completed answers in front of the database: in this process, and in Redis.
import { CLOCK_SKEW_SECONDS } from '../../src/domain/idempotency/repeatability.ts'
import type { IdempotencyKey, KeyName } from '../../src/db/idempotency/idempotency-keys.ts'
import type { Answers, AnswersObserver } from '../../src/answers/answers.ts'
import type { AnswerEpoch } from './answer-epoch.ts'
import type { MemoryAnswers } from './memory-answers.ts'
import type { RedisAnswers } from './redis-answers.ts'

interface Layers {
  readonly epoch: AnswerEpoch
  readonly memory: MemoryAnswers | undefined
  readonly redis: RedisAnswers | undefined
  readonly observe: AnswersObserver
}

export function createAnswers({ epoch, memory, redis, observe }: Layers): Answers {
  const copies = new WeakSet<IdempotencyKey>()
  const findCopy = async (name: KeyName): Promise<IdempotencyKey | undefined> => {
    const current = epoch.current()
    if (current === undefined) return undefined
    const remembered = memory?.find(current, name)
    if (memory !== undefined) {
      observe.lookedUpAnswer('memory', remembered === undefined ? 'miss' : 'hit')
    }
    if (remembered !== undefined) return remembered
    const shared = await redis?.find(current, name)
    // A response may have been dropped while Redis answered.
    if (shared === undefined || epoch.current() !== current) return undefined
    if (shared.response !== null) memory?.keep(current, shared)
    return shared
  }
  return {
    epoch: () => epoch.current(),
    async find(name) {
      const copy = await findCopy(name)
      if (copy === undefined || mayHaveExpired(copy)) return undefined
      copies.add(copy)
      return copy
    },
    keep(before, key) {
      if (before === undefined || before !== epoch.current() || copies.has(key)) return
      memory?.keep(before, key)
      redis?.keep(before, key)
    },
    close: () => redis?.close(),
  }
}

/** By a clock that is ahead. The reaper may have deleted the key then, and another request used it again. */
function mayHaveExpired({ expiresAt }: IdempotencyKey): boolean {
  return expiresAt.getTime() - CLOCK_SKEW_SECONDS * 1_000 <= Date.now()
}
