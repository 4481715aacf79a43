// Reads the parameter `expand` (https://docs.stripe.com/api/expanding_objects).
import { readStrings, type Parameters } from './parameters.ts'
import { invalidParameter } from './stripe-errors.ts'

/**
 * Returns the properties to expand. One that contains another expands that one, too.
 *
 * @throws StripeError when a property cannot be expanded.
 */
export function readExpand(params: Parameters, expandable: readonly string[]): Set<string> {
  const expanded = readStrings(params, 'expand') ?? []
  const other = expanded.find((name) => !expandable.includes(name))
  if (other !== undefined) {
    throw invalidParameter('expand', `This property cannot be expanded (${other}).`)
  }
  return new Set(expandable.filter((name) => expanded.some((asked) => contains(asked, name))))
}

function contains(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}.`)
}
