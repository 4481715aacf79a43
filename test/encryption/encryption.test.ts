import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { encryptionKeys } from '../../src/config-formats.ts'
import { createEncryption, EncryptionError } from '../../src/encryption/encryption.ts'
import { encryptionKeyOf } from '../support/encryption.ts'

const OLD = encryptionKeyOf('2025', 1)
const NEW = encryptionKeyOf('2026', 2)

const encryptionWith = (setting: string, now?: () => number) =>
  createEncryption(encryptionKeys.parse(setting), now)

const place = { tenantId: randomUUID(), column: 'payments.client_secret', id: randomUUID() }
const SECRET = 'pi_1_secret_2'
const { encrypt, decrypt } = encryptionWith(NEW)

describe('an encrypted value', () => {
  test.each(['', 'a', SECRET, '{"ü": "✓ \\u0000"}', randomBytes(100_000).toString('base64')])(
    'decrypts to the same text (%#)',
    (text) => {
      expect(decrypt(place, encrypt(place, text))).toBe(text)
    },
  )

  test('names its key, does not contain the text, and differs each time', () => {
    const values = Array.from({ length: 100 }, () => encrypt(place, SECRET))

    expect(new Set(values).size).toBe(100)
    for (const value of values) {
      expect(value).toMatch(/^enc\.v1\.2026\.[\w-]{80}\.[\w-]{55}$/)
      expect(
        Buffer.from(value.split('.').at(-1) ?? '', 'base64url').toString('latin1'),
      ).not.toContain(SECRET)
    }
  })

  test.each(['tenantId', 'column', 'id'])('does not decrypt with another %s', (member) => {
    const value = encrypt(place, SECRET)

    expect(() => decrypt({ ...place, [member]: randomUUID() }, value)).toThrow(EncryptionError)
  })

  test.each([0, 1, 5, 11, 12, 20, 24, 30, 40])(
    'does not decrypt after its byte %d has changed',
    (index) => {
      const parts = encrypt(place, SECRET).split('.')
      for (const part of [3, 4]) {
        const bytes = Buffer.from(parts[part] ?? '', 'base64url')
        bytes[index] = (bytes[index] ?? 0) ^ 1
        const changed = parts.with(part, bytes.toString('base64url')).join('.')
        expect(() => decrypt(place, changed)).toThrow(EncryptionError)
      }
    },
  )

  test('does not decrypt with the data key of another one, or when it is cut', () => {
    const own = encrypt(place, SECRET)
    const foreign = encryptionWith(NEW).encrypt(place, SECRET)
    const [wrapped = '', sealed = ''] = foreign.split('.').slice(3)

    expect(() => decrypt(place, own.split('.').with(3, wrapped).join('.'))).toThrow(EncryptionError)
    for (const cut of ['', sealed.slice(0, 15), sealed.slice(0, 16), sealed.slice(0, 40)]) {
      expect(() => decrypt(place, own.split('.').with(4, cut).join('.'))).toThrow(EncryptionError)
      expect(() => decrypt(place, own.split('.').with(3, cut).join('.'))).toThrow(EncryptionError)
    }
    expect(() => decrypt(place, own.split('.').slice(0, 4).join('.'))).toThrow(EncryptionError)
    expect(() => decrypt(place, 'enc.v1.')).toThrow(EncryptionError)
  })

  test('does not decrypt when another key has the same name', () => {
    const { decrypt: wrong } = encryptionWith(encryptionKeyOf('2026', 9))

    expect(() => wrong(place, encrypt(place, SECRET))).toThrow(
      'a value in payments.client_secret was changed, belongs to another row, or its key 2026 is not ' +
        'the one that encrypted it',
    )
  })
})

describe('keys', () => {
  const old = encryptionWith(OLD).encrypt(place, SECRET)

  test('the first one encrypts, and each one decrypts', () => {
    const both = encryptionWith(`${NEW},${OLD}`)

    expect(both.decrypt(place, old)).toBe(SECRET)
    expect(both.encrypt(place, SECRET)).toMatch(/^enc\.v1\.2026\./)
    expect(encryptionWith(`${OLD},${NEW}`).decrypt(place, both.encrypt(place, SECRET))).toBe(SECRET)
  })

  test('a missing one is named, and nothing of the value', () => {
    expect(() => decrypt(place, old)).toThrow(
      new EncryptionError('ENCRYPTION_KEYS has no key with the name 2025'),
    )
  })

  test('fixed texts, which are stored plainly, are read as they are', () => {
    expect(decrypt(place, SECRET)).toBe(SECRET)
    expect(decrypt(place, '{"enc.v1.": 1}')).toBe('{"enc.v1.": 1}')
  })
})

describe('the data key', () => {
  const dataKeyOf = (value: string) => value.split('.')[3]

  test('is used for an hour, and is another one in each process', () => {
    let now = 0
    const timed = encryptionWith(NEW, () => now)
    const first = timed.encrypt(place, SECRET)
    now = 3_599_999
    expect(dataKeyOf(timed.encrypt(place, SECRET))).toBe(dataKeyOf(first))
    now = 3_600_000
    const later = timed.encrypt(place, SECRET)

    expect(dataKeyOf(later)).not.toBe(dataKeyOf(first))
    expect(dataKeyOf(encryptionWith(NEW).encrypt(place, SECRET))).not.toBe(dataKeyOf(first))
    expect([first, later].map((value) => timed.decrypt(place, value))).toEqual([SECRET, SECRET])
  })

  test('more of them than are cached decrypt', () => {
    let now = 0
    const timed = encryptionWith(NEW, () => now)
    const values = Array.from({ length: 1_100 }, () => {
      now += 3_600_000
      return timed.encrypt(place, SECRET)
    })

    expect(new Set(values.map(dataKeyOf)).size).toBe(1_100)
    for (const value of [...values, ...values]) expect(decrypt(place, value)).toBe(SECRET)
  })
})
