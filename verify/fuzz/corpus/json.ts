// Bodies that are not JSON, or JSON that two parsers could read differently.
import { type Case, utf8 } from '../draft.ts'
import { casesOf, paymentOf, type Table } from './requests.ts'

const REST = '"currency":"usd","payment_method":"pm_card_visa"'
const GOOD = `{"amount":1999,${REST}}`
const withField = (name: string, value: string) =>
  paymentOf(`{"amount":1999,${REST},"${name}":${value}}`)
const described = (text: string) => withField('description', `"${text}"`)

const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

// prettier-ignore
const table: Table = {
  'malformed-json': {
    'no bytes': paymentOf(''),
    'only spaces': paymentOf('   \r\n'),
    'null': paymentOf('null'),
    'an array': paymentOf(`[${GOOD}]`),
    'an object that ends early': paymentOf(GOOD.slice(0, -1)),
    'a trailing comma': paymentOf(`{"amount":1999,${REST},}`),
    'a comment': paymentOf(`{/* cents */"amount":1999,${REST}}`),
    'NaN': paymentOf(`{"amount":NaN,${REST}}`),
    'a leading zero': paymentOf(`{"amount":01999,${REST}}`),
    'a line break in a string': described('a\nb'),
    'a byte order mark': paymentOf(utf8('\uFEFF') + GOOD),
    'UTF-16 with a byte order mark': paymentOf(`\u00FF\u00FE${GOOD.replaceAll(/./g, '$&\0')}`),
    'a byte that is never UTF-8': described('\u00FF'),
    'a no-break space outside strings': paymentOf(`{${utf8('\u00A0')}"amount":1999,${REST}}`),
  },
  'duplicate-member': {
    'an amount twice': paymentOf(`{"amount":1,"amount":1999,${REST}}`),
    'an amount twice, once escaped': paymentOf(`{"amount":1,"\\u0061mount":1999,${REST}}`),
    '__proto__ twice': withField('metadata', '{"__proto__":"1","__proto__":"2"}'),
  },
  'nesting-too-deep': {
    '21 levels of objects': paymentOf(objects(21)),
    '21 levels of arrays': withField('metadata', `${'['.repeat(20)}${']'.repeat(20)}`),
    'brackets that never end': paymentOf('{{brackets-60000}}'),
    'arrays that fill the body': paymentOf(`{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`),
    'objects that never end': paymentOf('{"a":'.repeat(12_000)),
  },
  'forbidden-character': {
    'UTF-16 without a byte order mark, so every other byte is NUL': paymentOf(GOOD.replaceAll(/./g, '$&\0')),
    'UTF-32': paymentOf(GOOD.replaceAll(/./g, '\0\0\0$&')),
    'an escaped NUL': described('a\\u0000b'),
    'NUL as a byte': described('a\0b'),
    'a lone high surrogate': described('\\ud800'),
    'a deeply nested lone surrogate': withField('metadata', '{"a":[[["\\ud83d"]]]}'),
  },
  'unknown-field': {
    '__proto__': withField('__proto__', '{"amount":1}'),
    '__proto__ in metadata': withField('metadata', '{"__proto__":"x"}'),
    'constructor': withField('constructor', '{"prototype":{"amount":1}}'),
    'an empty name': withField('', '1'),
    'a name with a Cyrillic lookalike': withField('\\u0430mount', '1'),
    'a name with a zero-width character': withField('amount\\u200b', '1'),
    'a number beyond the largest double': withField('extra', '1e400'),
  },
}

export const json: readonly Case[] = casesOf('JSON', table)
