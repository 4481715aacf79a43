// The settings for copies of answers in front of the database.
import { z } from 'zod'

/** `redis://` or `rediss://` (TLS), with a user, a password and the number of a database. */
const redisUrl = z.string().refine(isRedisUrl, {
  error: 'must be redis[s]://[[user]:password@]host[:port][/database]',
})

function isRedisUrl(text: string): boolean {
  if (!/^rediss?:\/\/[^/?#]+(\/\d*)?$/.test(text) || !URL.canParse(text)) return false
  const { hostname, username, password } = new URL(text)
  // The client does not log a user in who has no password.
  if (username !== '' && password === '') return false
  return hostname !== '' && [username, password].every(isPercentEncoded)
}

/** The client decodes them, and throws what it cannot decode. */
function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

export const settings = {
  ANSWER_CACHE_SECONDS: z.coerce.number().min(0).max(3_600).default(0),
  REDIS_URL: redisUrl.optional(),
  REDIS_KEY_PREFIX: z.string().max(100).default('atomic-payments:'),
}
