// Defines the circuit breaker of a webhook endpoint: after repeated failures it is left alone for a
// growing, bounded time; then one attempt tests it. Deliveries wait meanwhile, and use up no tries.

/** How many consecutive failures, of whichever deliveries, open the circuit. */
export const FAILURES_TO_OPEN = 5

/** The first pause. Each further failure doubles it. */
export const FIRST_PAUSE_SECONDS = 30

/**
 * The longest pause. A receiver that works again waits no longer for its events, and one that does
 * not costs one attempt in an hour.
 */
export const LONGEST_PAUSE_SECONDS = 60 * 60

/** `half_open`: the pause is over, and one attempt may test the endpoint. */
export type CircuitState = 'closed' | 'open' | 'half_open'
