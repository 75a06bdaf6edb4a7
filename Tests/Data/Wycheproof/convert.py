"""Turns Wycheproof's xchacha20_poly1305_test.json into one line for a case: convert.py JSON > TXT"""

import json
import sys

with open(sys.argv[1], encoding="ascii") as source:
    vectors = json.load(source)

for group in vectors["testGroups"]:
    for case in group["tests"]:
        parts = [case["key"], case["iv"], case["aad"], case["msg"], case["ct"] + case["tag"]]
        print(case["tcId"], case["result"], *(part or "-" for part in parts))
