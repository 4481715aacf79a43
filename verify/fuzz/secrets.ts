// Finds secrets in answers and logs: the keys of the run and the card numbers in requests.

/** Stripe's test numbers, of every card network. */
export const CARD_NUMBERS = [
  '4242424242424242',
  '4000056655665556',
  '5555555555554444',
  '2223003122003222',
  '5105105105105100',
  '378282246310005',
  '371449635398431',
  '6011111111111117',
  '6011981111111113',
  '3056930009020004',
  '36227206271667',
  '3566002020360505',
  '6200000000000005',
] as const

export interface Secrets {
  /** Returns the names of the secrets in a text. */
  findIn(text: string): string[]
}

/** @param keys the secret values by name. Reports contain the names only. */
export function secretsOf(keys: ReadonlyMap<string, string>): Secrets {
  const cards = new RegExp(CARD_NUMBERS.join('|'))
  return {
    findIn(text) {
      const found = [...keys].filter(([, key]) => text.includes(key)).map(([name]) => name)
      // Removes all separators between the digits.
      const hasCard = MAYBE_CARD.test(text) && cards.test(text.replaceAll(/\D+/g, ''))
      return hasCard ? [...found, 'a card number'] : found
    },
  }
}

/** A fast pre-check: at least twelve digits with short separators. Most texts have none. */
const MAYBE_CARD = /(?:\d[^0-9A-Za-z]{0,3}){12}/
