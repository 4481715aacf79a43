// The formats of settings with parts: operators and their keys, encryption keys, name servers,
// proxies, delays, some of several names.
import { createSecretKey, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import { z } from 'zod'

export const httpUrl = z.url({
  protocol: /^https?$/,
  error: 'must be an http:// or https:// URL',
})

/** The name in the audit trail for an operator key without a name. */
const NAMELESS_OPERATOR = 'admin'

/** What an operator may do: a viewer reads only. */
type OperatorRole = 'operator' | 'viewer'

/** In findings and runs these names stand for the service itself, so no operator may have them. */
const RESERVED_NAMES = ['reconciler', 'schedule']

/** `all`, or some of the choices, each once: `payments,maintenance`. In the order of the choices. */
export function allOrSome<const Name extends string>(choices: readonly Name[]) {
  const listed = `${choices.slice(0, -1).join(', ')} and ${choices.at(-1)}`
  const isChoice = (name: string) => (choices as readonly string[]).includes(name)
  return z
    .string()
    .transform((text): readonly string[] => (text.trim() === 'all' ? choices : namesIn(text)))
    .refine((names) => new Set(names).size === names.length && names.every(isChoice), {
      error: `must be all, or some of ${listed}, each once`,
    })
    .transform((names) => choices.filter((choice) => names.includes(choice)))
}

function namesIn(text: string): string[] {
  return text.split(',').map((part) => part.trim())
}

/** Addresses of name servers: `10.0.0.2,[2001:db8::1]:5353`. */
export const nameServers = z
  .string()
  .transform(namesIn)
  .refine((servers) => servers.every(isNameServer), {
    error:
      'must be a list of IP addresses, each with a port if it is not 53: 10.0.0.2,10.0.0.3:5353',
  })

function isNameServer(text: string): boolean {
  const [, v6, v4 = text, portText] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  return isIP(v6 ?? v4) !== 0 && Number(portText ?? 53) <= 65_535
}

/** Names of networks that Express knows. */
const PROXY_NETWORKS = ['loopback', 'linklocal', 'uniquelocal']

/**
 * The proxies in front of the API, as Express takes them: their number, or their addresses and
 * networks, such as `10.0.0.0/8,loopback`.
 *
 * @see https://expressjs.com/en/guide/behind-proxies.html
 */
export const trustedProxies = z
  .string()
  .transform(namesIn)
  .refine((parts) => isHops(parts) || parts.every(isProxy), {
    error: 'must be the number of proxies, or a list of their addresses: 10.0.0.0/8,loopback',
  })
  .transform((parts) => (isHops(parts) ? Number(parts[0]) : parts))

function isHops([only = '', ...others]: readonly string[]): boolean {
  return others.length === 0 && /^[1-9]$/.test(only)
}

function isProxy(text: string): boolean {
  const [address = '', bits, ...others] = text.split('/')
  const most = { 4: 32, 6: 128 }[isIP(address)] ?? -1
  const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most)
  return PROXY_NETWORKS.includes(text) || (most > 0 && fits && others.length === 0)
}

const OPERATOR = /^(?:([a-z][a-z0-9._-]{0,49})(?::(operator|viewer))?=)?(adm_[A-Za-z0-9_]{24,200})$/

/**
 * One key without a name, or keys with the names and roles of their operators:
 * `alice=adm_...,bob:viewer=adm_...`. An operator whose key is rotated has two keys, and is one person
 * with one role.
 */
export const operatorKeys = z
  .string()
  .refine((text) => text.split(',').every((part) => OPERATOR.test(part)), {
    error:
      'must be adm_ and 24 to 200 letters, digits or _, or a list name=adm_...,name:viewer=adm_...',
    abort: true,
  })
  .transform((text) =>
    text.split(',').map((part) => {
      const [, name, role = 'operator', key = ''] = OPERATOR.exec(part) ?? []
      const named = name !== undefined
      return { name: name ?? NAMELESS_OPERATOR, role: role as OperatorRole, named, key }
    }),
  )
  .refine((operators) => operators.length === 1 || operators.every(({ named }) => named), {
    error: 'must have a name for every operator when there are several',
  })
  .refine((operators) => operators.every(({ name }) => !RESERVED_NAMES.includes(name)), {
    error: `must not use the reserved names ${RESERVED_NAMES.join(' and ')}`,
  })
  .refine((operators) => new Set(operators.map(({ key }) => key)).size === operators.length, {
    error: 'must have each key once',
  })
  .refine((operators) => !operators.some((one) => hasOtherRole(operators, one)), {
    error: 'must have the same role for each key of an operator',
  })
  .refine((operators) => operators.every(({ key }) => entropyBits(key) >= ENTROPY_BITS_MIN), {
    error:
      'must have keys that cannot be guessed, as `openssl rand -hex 20` prints them, after adm_',
  })
  .transform((operators) => operators.map(({ name, role, key }) => ({ name, role, key })))

/** OWASP's minimum for session ids, which are guessed the same way. */
const ENTROPY_BITS_MIN = 64

/**
 * Estimates how hard an operator key is to guess. What repeats three or more earlier characters counts
 * as one character; letters of one case without digits count as words of a language.
 */
function entropyBits(key: string): number {
  const text = key.replace(/^adm_/, '')
  let characters = 0
  for (let at = 0; at < text.length; characters += 1) {
    let length = 0
    while (at + length < text.length && isRepeated(text, at, length + 1)) length += 1
    at += length >= 3 ? length : 1
  }
  return characters * bitsPerCharacter(text)
}

/** Whether the text has the same characters earlier; they may overlap. */
function isRepeated(text: string, at: number, length: number): boolean {
  return text.slice(0, at + length - 1).includes(text.slice(at, at + length))
}

function bitsPerCharacter(text: string): number {
  if (/^\d+$/.test(text)) return Math.log2(10)
  if (/^[a-z_]+$|^[A-Z_]+$/.test(text)) return 2
  if (/^[\da-f]+$|^[\dA-F]+$/.test(text)) return 4
  return Math.log2(/^[\da-z_]+$|^[\dA-Z_]+$/.test(text) ? 36 : 62)
}

interface NamedRole {
  readonly name: string
  readonly role: OperatorRole
}

function hasOtherRole(operators: readonly NamedRole[], { name, role }: NamedRole): boolean {
  return operators.some((other) => other.name === name && other.role !== role)
}

/** How many people may change something with these operator keys. */
export function countOperators(keys: readonly NamedRole[] = []): number {
  return new Set(keys.filter(({ role }) => role === 'operator').map(({ name }) => name)).size
}

/** An object without readable bytes, so that no log can contain the key. */
export interface EncryptionKey {
  readonly name: string
  readonly key: KeyObject
}

/** The first one encrypts new values. Each decrypts the values that name it. */
export type EncryptionKeys = readonly [EncryptionKey, ...EncryptionKey[]]

const KEY_BYTES = 32

/** `2026-11:<base64 of 32 bytes>,...`, the newest first. */
export const encryptionKeys = z
  .string()
  .transform((text) => namesIn(text).map(readEntry))
  .refine((entries) => entries.every(({ name }) => isKeyName(name)), {
    error: 'must have a name of a-z, 0-9 and - before each key: name:key,name:key',
    abort: true,
  })
  .refine((entries) => entries.every(({ base64 }) => isKey(base64)), {
    error:
      'must have 32 bytes in base64 behind each name, as `openssl rand -base64 32` prints them',
    abort: true,
  })
  .refine((entries) => new Set(entries.map(({ name }) => name)).size === entries.length, {
    error: 'must have each name once',
  })
  .transform((entries) => {
    const keys = entries.map(({ name, base64 }): EncryptionKey => {
      return { name, key: createSecretKey(Buffer.from(base64, 'base64')) }
    })
    return keys as [EncryptionKey, ...EncryptionKey[]]
  })

function readEntry(text: string): { name: string; base64: string } {
  const end = text.indexOf(':')
  return { name: text.slice(0, Math.max(end, 0)), base64: text.slice(end + 1) }
}

const isKeyName = (name: string): boolean => /^[a-z0-9][a-z0-9-]{0,39}$/.test(name)

/** Node ignores what is not base64. */
function isKey(base64: string): boolean {
  const bytes = Buffer.from(base64, 'base64')
  return bytes.length === KEY_BYTES && bytes.toString('base64') === base64
}

/** The error of a wrong or missing setting. It stops the process at its start. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}
