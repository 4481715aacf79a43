// Plays the outages of PostgreSQL, in a file of its own, so that they run beside the others.
import { describeOutages } from './describe-outages.ts'
import { storeOutages } from './store-outages.ts'

describeOutages(storeOutages)
