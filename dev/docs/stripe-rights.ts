// Renders the rights that a restricted key of Stripe needs, for docs/operations.md.
import { stripeRights } from '../../src/provider/stripe/calls/index.ts'

export function renderStripeRights(): string {
  return ['write', 'read'].map(renderRight).join('\n')
}

function renderRight(right: string): string {
  const resources = Object.keys(stripeRights).filter((resource) => stripeRights[resource] === right)
  return `- ${right}: ${resources.map(titleOf).toSorted().join(', ')}`
}

const titleOf = (resource: string): string =>
  resource.charAt(0).toUpperCase() + resource.slice(1).replaceAll(/[/_]/g, ' ')
