// Zod schemas of the amounts of payments and their parts. Their descriptions list the rules of each
// currency for openapi.yaml. The rules are checked only for new operations, not with the schema.
import type { z } from 'zod'
import { amountMaxMinor, currencies, decimalsOf } from '../../domain/payments/currency.ts'
import { capabilitiesOf } from '../../provider/declared.ts'
import { amountField } from '../requests/body-fields.ts'

const { amounts } = capabilitiesOf('stripe')

const maxima = new Map(
  currencies
    .map((currency) => [currency, amountMaxMinor(currency)] as const)
    .filter(([, maximum]) => maximum !== amountMaxMinor('usd')),
)

const UNIT = `In the smallest unit of the currency, as at Stripe, whichever provider charges it: with two decimals, without any in ${codesOf(0)}, and with three in ${codesOf(3)}. See docs/currencies.md.`

const STEPS = `At Stripe, in some currencies it must be a multiple: ${list(amounts.steps)}; at Braintree: ${list(capabilitiesOf('braintree').amounts.steps)}.`

const MAXIMA = `The largest amount is ${amountMaxMinor('usd')}; in ${list(maxima)}.`

const MINIMA = `The smallest amount at Stripe by currency: ${list(amounts.chargeMinimaMinor)}. Other currencies have no minimum here, but the provider may decline a small amount.`

const chargeAmount = amountField.meta({
  id: 'ChargeAmount',
  description: `${UNIT} ${MAXIMA} ${STEPS} ${MINIMA}`,
})

const partAmount = amountField.meta({ id: 'PartAmount', description: `${UNIT} ${STEPS}` })

/** The amount of a payment, in minor units. */
export const chargeAmountField = (description: string): z.ZodInt =>
  chargeAmount.meta({ description })

/** A part of the amount of a payment, in minor units. */
export const partAmountField = (description: string): z.ZodInt => partAmount.meta({ description })

function codesOf(decimals: number): string {
  const codes = currencies.filter((currency) => decimalsOf(currency) === decimals)
  return codes.map((code) => `\`${code}\``).join(', ')
}

function list(numbers: ReadonlyMap<string, number>): string {
  return [...numbers].map(([currency, minor]) => `\`${currency}\` ${minor}`).join(', ')
}
