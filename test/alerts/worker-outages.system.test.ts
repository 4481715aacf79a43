// Plays the outages of workers, in a file of its own, so that they run beside the others.
import { describeOutages } from './describe-outages.ts'
import { workerOutages } from './worker-outages.ts'

describeOutages(workerOutages)
