#!/usr/bin/env python3
"""Validates the Croissant metadata of copies with MLCommons' own package: `croissant.py COPY...` (`pip install mlcroissant`).

COPY is a directory that `prep export ID` created. Also checks that every record set has the columns of its table.
"""

import csv
import logging
import pathlib
import sys

import mlcroissant

logging.disable(logging.WARNING)


def main():
    wrong = checked = tables = 0
    for copy in map(pathlib.Path, sys.argv[1:]):
        for path in sorted(copy.glob("*/croissant.json")):
            checked += 1
            try:
                dataset = mlcroissant.Dataset(jsonld=str(path))
                issues = dataset.metadata.ctx.issues
                found = list(issues.errors)
                for records in dataset.metadata.record_sets:
                    name = records.name
                    with open(path.parent / "prepared/public" / name, newline="") as file:
                        names = enumerate(next(csv.reader(file)))
                        header = [name or f"Unnamed: {at}" for at, name in names]
                    if [field.name for field in records.fields] != header:
                        found.append(f"{name}: fields are not its columns")
                    tables += 1
            except Exception as error:  # the package may raise any exception
                found = [f"{type(error).__name__}: {error}"]
            for one in found:
                wrong += 1
                print(f"{path.parent.name}: {str(one)[:300]}")
    print(f"{checked} descriptions, {tables} tables, {wrong} mistakes")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
