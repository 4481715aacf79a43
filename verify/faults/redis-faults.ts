// Faults of the Redis that keeps copies of answers. PostgreSQL decides, so each of them may cost time,
// and must never cost a charge or change an answer.
import { isCommitBoundary } from './durable-states.ts'
import type { Fault } from './fault.ts'
import type { LaneRedis } from './lane-redis.ts'
import type { Point } from './points.ts'
import { PASS } from './watch.ts'

interface Happening {
  readonly name: string
  readonly strike: (redis: LaneRedis) => Promise<void>
  /** Whether it ends before the message of the point goes on. */
  readonly isWaitedFor?: true
}

const happenings: readonly Happening[] = [
  { name: 'redis-killed', strike: (redis) => redis.crash() },
  { name: 'redis-paused', strike: (redis) => redis.pause() },
  { name: 'redis-cut', strike: (redis) => redis.cut() },
  { name: 'redis-full', strike: (redis) => redis.fill() },
  { name: 'redis-flushed', strike: (redis) => redis.flush(), isWaitedFor: true },
  { name: 'redis-failover', strike: (redis) => redis.failOver(), isWaitedFor: true },
  { name: 'redis-restored', strike: (redis) => redis.restoreSnapshot(), isWaitedFor: true },
]

export const redisFaults: readonly Fault[] = happenings.map(({ name, strike, isWaitedFor }) => ({
  name,
  appliesAt: (point) => isAtRedis(point) || isCommitBoundary(point),
  needsRedis: true,
  inject({ lane, trackWork }, point) {
    const over = strike(lane.redis)
    trackWork(over.then(() => []))
    if (isWaitedFor !== true || !isAtRedis(point)) return PASS
    return { do: 'wait', until: over.then(() => 'pass') }
  },
}))

export function isAtRedis({ peer }: Point): boolean {
  return peer === 'redis'
}
