// Keeps copies of completed answers in front of the database, so that a replay needs no statement: in
// this process, and in Redis. Copies only save time. The database alone decides, and a request without
// a valid copy is served by it as before.
import type { IdempotencyKey, KeyName } from '../db/idempotency/idempotency-keys.ts'
import type { AnswerEpoch } from './answer-epoch.ts'
import type { MemoryAnswers } from './memory-answers.ts'
import type { AnswersObserver } from './observer.ts'
import type { RedisAnswers } from './redis-answers.ts'

export interface Answers {
  /**
   * The epoch in which an answer must be read to be kept: ask before the statement. Undefined while
   * this process would not learn that a response is dropped. Nothing is kept and found then.
   */
  epoch(): string | undefined
  /**
   * Returns a copy of the key: completed, with its response, or still in progress a moment ago. Never
   * throws.
   */
  find(name: KeyName): Promise<IdempotencyKey | undefined>
  /**
   * Keeps a key that the database returned, in the background: a completed one, and in Redis one that
   * is in progress. Ignores other keys, and copies. Never throws.
   */
  keep(epoch: string | undefined, key: IdempotencyKey): void
  close(): void
}

/** Keeps nothing. */
export const noAnswers: Answers = {
  epoch: () => undefined,
  find: () => Promise.resolve(undefined),
  keep() {},
  close() {},
}

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
      if (copy !== undefined) copies.add(copy)
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
