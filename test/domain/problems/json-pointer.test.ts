import { describe, expect, test } from '@jest/globals'
import { jsonPointer } from '../../../src/domain/problems/json-pointer.ts'

describe('jsonPointer', () => {
  test.each([
    ['the whole body', [], ''],
    ['a member', ['amount'], '/amount'],
    ['a member of an element', ['items', 3, 'address_line1'], '/items/3/address_line1'],
    ['__proto__', ['metadata', '__proto__'], '/metadata/__proto__'],
    ['eight digits', ['order20261121'], '/order20261121'],
  ])('names %s', (_, path, pointer) => {
    expect(jsonPointer(path)).toBe(pointer)
  })

  test.each([
    ['a card number', '4242424242424242'],
    ['a card number behind a letter', 'n4242424242424242'],
    ['a card number with underscores', 'n4242_4242_4242_4242'],
    ['nine digits', 'order123456789'],
    ['spaces', 'my secret'],
    ['a slash or tilde', 'a/b~c'],
    ['no characters', ''],
    ['more than 40 characters', 'a'.repeat(41)],
    ['markup', '<script>'],
    ['a line break at the end', 'amount\n'],
    ['other scripts', 'gr\u00F6\u00DFe'],
  ])('ends before a name with %s', (_, name) => {
    expect(jsonPointer(['metadata', name, 'x'])).toBe('/metadata')
  })
})
