// Refuses a DATABASE_URL.
import { ConfigError } from '../../../config.ts'

/**
 * @param reason names the parameter, but no value: a part of a mistyped URL may be a part of its
 *   password.
 * @throws ConfigError always.
 */
export function refuseUrl(reason: string): never {
  throw new ConfigError(`Wrong settings in the environment:\n  DATABASE_URL: ${reason}`)
}
