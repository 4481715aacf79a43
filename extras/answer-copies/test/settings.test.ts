import { describe, expect, test } from '@jest/globals'
import { ConfigError } from '../../../src/config-formats.ts'
import { readConfig } from '../../../src/config.ts'

const ENCRYPTION_KEYS = `one:${btoa('o'.repeat(32))}`
const FORM = 'REDIS_URL: must be redis[s]://[[user]:password@]host[:port][/database]'

const read = (url: string) => readConfig({ REDIS_URL: url, ENCRYPTION_KEYS })

describe('REDIS_URL', () => {
  test.each([
    'redis://localhost',
    'redis://127.0.0.1:6380',
    'redis://[::1]:6380/2',
    'redis://:hunter2@redis.internal',
    'redis://app:hunter%402@redis.internal:6380/0',
    'rediss://app:hunter2@redis.internal',
  ])('may be %s', (url) => {
    expect(read(url)).toMatchObject({ REDIS_URL: url })
  })

  test.each([
    'redis.internal:6379',
    'http://redis.internal',
    'redis://',
    'redis://:hunter2@',
    // The client would use the default user.
    'redis://app@redis.internal',
    'redis://:hunter%2@redis.internal',
    'redis://redis.internal/first',
    'redis://redis.internal?tls=true',
    'redis://redis.internal:port',
  ])('may not be %s', (url) => {
    expect(() => read(url)).toThrow(ConfigError)
    expect(() => read(url)).toThrow(FORM)
    expect(() => read(url)).not.toThrow('hunter')
  })
})
