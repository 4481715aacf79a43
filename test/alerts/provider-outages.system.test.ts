// Plays the outages of the provider, in a file of its own, so that they run beside the others.
import { describeOutages } from './describe-outages.ts'
import { nonsenseOutages, providerOutages } from './provider-outages.ts'

describeOutages(providerOutages)
describeOutages(nonsenseOutages)
