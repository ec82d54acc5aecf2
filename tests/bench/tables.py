"""Benchmarks a competition that splits one table of taxi rides by rows. Measures the time, and the memory per additional row."""
import bundles
from measure import Row, prep
from sized import Sized

RIDES = Sized("new-york-city-taxi-fare-prediction", bundles.rides, 0, "rides")


def table(args, work):
    return RIDES.measured(args, work, 2 * args.rows)


def memory(args, work):
    costs = []
    for rows in (args.rows // 4, args.rows * 10 // 4):
        RIDES.make(work / f"{RIDES.competition}.zip", rows)
        costs.append(prep(args, work, RIDES.competition, pipelines=None))
    further = (costs[1].memory - costs[0].memory) * 2**20 / (9 * (args.rows // 4))
    return [Row("memory", f"{args.rows * 10 // 4} rows", costs[1], f"{args.rows // 4} rows", costs[0],
                f"{further:.1f} bytes for a further row")]
