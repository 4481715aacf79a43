// How long a session of the console lasts.
import type { SessionLimits } from '../../db/operators/console-sessions.ts'
import type { Config } from '../../config.ts'

/** A session ends after twelve hours, also when it is used. */
export const SESSION_MAX_SECONDS = 12 * 60 * 60

export function sessionLimits({
  CONSOLE_IDLE_SECONDS,
}: Pick<Config, 'CONSOLE_IDLE_SECONDS'>): SessionLimits {
  return { idleSeconds: CONSOLE_IDLE_SECONDS, maxSeconds: SESSION_MAX_SECONDS }
}
